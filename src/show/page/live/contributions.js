// Contributions of heads and MLPs to a token's logit, as a small map of the model.
import {element} from '../dom.js';
import {svg} from './chart.js';
import {say} from '../words.js';

const kCell = 16;
const kStrongest = 4;

export const signed = (value) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;

// Returns the parts of an attribution with a place in the map: {layer, column, name, logit}. The
// MLP column follows the heads.
export function placedParts(parts) {
  const heads = parts.filter(({kind}) => kind === 'head');
  const columnOf = ({head}) => Number(head.split('.')[1]);
  const width = Math.max(0, ...heads.map((part) => columnOf(part) + 1));
  return {
    width,
    layers: Math.max(0, ...parts.filter(({kind}) => ['head', 'mlp'].includes(kind)).map(({layer}) => layer + 1)),
    cells: [
      ...heads.map((part) => ({layer: part.layer, column: columnOf(part), name: part.head, logit: part.logit})),
      ...parts.filter(({kind}) => kind === 'mlp')
        .map(({layer, logit}) => ({layer, column: width, name: `MLP ${layer}`, logit})),
    ],
  };
}

function cellOf({layer, column, name, logit}, width, largest) {
  const cell = svg('rect', {x: column * kCell + (column === width ? kCell / 2 : 0), y: layer * kCell,
                            width: kCell - 1.5, height: kCell - 1.5, rx: 2, class: logit < 0 ? 'below' : 'above'},
                   svg('title', {}, `${name} ${signed(logit)}`));
  cell.style.fillOpacity = (0.08 + 0.92 * Math.abs(logit) / largest).toFixed(2);
  return cell;
}

export function contributionMap(parts) {
  const {width, layers, cells} = placedParts(parts);
  const largest = Math.max(1e-6, ...cells.map(({logit}) => Math.abs(logit)));
  const strongest = [...cells].sort((a, b) => Math.abs(b.logit) - Math.abs(a.logit)).slice(0, kStrongest);
  const size = [(width + 1.5) * kCell, layers * kCell];
  const map = svg('svg', {viewBox: `0 0 ${size.join(' ')}`, width: size[0], height: size[1], role: 'img', class: 'adds-map',
                          'aria-label': say('adds_map')},
                  ...cells.map((cell) => cellOf(cell, width, largest)));
  return [map, element('ul', {className: 'adds'}, ...strongest.map(({name, logit}) =>
    element('li', {}, element('span', {textContent: name}),
      element('b', {className: logit < 0 ? 'amount below' : 'amount above', textContent: signed(logit)}))))];
}
