// Bar above a view: the head's name, its figures, and controls to choose a head or layer.
import {byId, element, option, picker} from './dom.js';
import {classTag, headTitle} from './labels.js';
import {announce, closeHead, goToHead, render, setDirection, showToken,
        writeAddress} from './page.js';
import {current, documents, layerHeads, view} from './state.js';
import {summary} from './weights.js';
import {say} from './words.js';

function figuresOf(head) {
  return element('dl', {className: 'figures'}, ...summary(head).map(([name, value, unit]) =>
    element('div', {title: say('mean_over_queries')}, element('dt', {textContent: name}),
      element('dd', {textContent: value.toFixed(2) + (unit ?? '')}))));
}

export function layerPicker() {
  const doc = documents[view.doc];
  const choose = (layer) => {
    const same = doc.byName.get(`${layer}.${current().head}`);
    view.head = (same ?? doc.heads.find((head) => head.layer === layer)).name;
    render();
    writeAddress(true);
    byId('tools').querySelector('select').focus();
  };
  return picker(say('layer'), doc.layers.map(({layer}) =>
    option(layer, layer, layer === current().layer)), choose);
}

export function directionSwitch() {
  const onclick = ({target}) => {
    view.kept = target.id;
    setDirection(target.id);
    showToken();
    announce();
    writeAddress(true);
  };
  return element('div', {className: 'segmented', role: 'group', ariaLabel: say('links_of_token')},
    ...[['gives', say('weight_given')], ['receives', say('weight_received')]].map(
      ([id, textContent]) => element('button', {type: 'button', id, textContent, onclick})));
}

export const isFine = (doc) => Math.max(doc.columns.length, doc.layers.length) > 6;

function headPicker() {
  const layer = layerHeads(documents[view.doc]);
  const choose = (number) => {
    goToHead(layer.find((head) => head.head === number));
    byId('tools').querySelector('.picker:nth-of-type(2) select')?.focus();
  };
  return picker(say('head'),
                layer.map(({head}) => option(head, head, head === current().head)), choose);
}

// Returns a small map of all heads; a click shows a head.
export function headNavigator() {
  const doc = documents[view.doc];
  return element('div', {
    className: isFine(doc) ? 'navigator fine' : 'navigator', role: 'group',
    ariaLabel: say('go_to_head'),
    style: `grid-template-columns: repeat(${doc.columns.length}, max-content)`,
  }, ...doc.heads.map((head) => element('button', {
    type: 'button', tabIndex: -1, title: say('head_name', {name: head.name}), ariaLabel: headTitle(head),
    ariaCurrent: head === current(), style: `grid-area: ${head.row + 1} / ${head.column + 1}`,
    onclick: () => goToHead(head),
  })));
}

// Returns the bar of a single head: name, class, figures, and controls to choose another one.
export function headTools() {
  const head = current();
  const name = element('h2', {id: 'name', tabIndex: -1, textContent: headTitle(head)});
  const model = view.tab === 'model';
  const back = element('button', {type: 'button', id: 'back', className: 'quiet',
                                  onclick: closeHead},
                       element('span', {ariaHidden: 'true', textContent: '←'}), say('all_heads'));
  return [...(model ? [back] : []), name, ...[classTag(head)].filter(Boolean), figuresOf(head),
          ...(model ? [directionSwitch()] : []),
          ...(isFine(head.doc) ? [layerPicker(), headPicker()] : [headNavigator()])];
}
