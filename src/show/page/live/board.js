// Board of switches: a button for every head, MLP and layer.
import {byId, element} from '../dom.js';
import {headsByClass, isPattern} from './classes.js';
import {listenToArrows} from './reach.js';
import {changed, session} from './session.js';
import {say} from '../words.js';

const kTools = ['off', 'mean', 'scale', 'freeze'];
const cells = new Map();  // by part
let tool = 'off';

const factor = () => Number(byId('factor').value);

function allowed(part) {
  return tool !== 'freeze' || /^\d/.test(part);
}

// Applies the current tool to parts, or removes its change when all have it.
function apply(parts) {
  const fitting = parts.filter(allowed);
  const has = (part) => session.changes.get(part)?.kind === tool &&
    (tool !== 'scale' || session.changes.get(part).by === factor());
  const takes = fitting.every(has);
  if (tool === 'freeze' && !takes) {
    session.frozen = session.text;
  }
  for (const part of fitting) {
    takes ? session.changes.delete(part) : session.changes.set(part, {kind: tool, by: factor()});
  }
  changed('changes');
}

export function showChanges() {
  for (const [part, cell] of cells) {
    const change = session.changes.get(part);
    cell.dataset.change = change?.kind ?? '';
    cell.ariaPressed = String(change !== undefined);
    cell.firstChild.textContent = {off: '✕', mean: 'μ', freeze: '❄', scale: `×${change?.by}`}[change?.kind] ?? '';
  }
  byId('release').disabled = session.changes.size === 0;
}

function button(part, name, row, column) {
  const cell = element('button', {type: 'button', className: 'cell', title: name},
    element('span', {ariaHidden: 'true'}));
  cell.ariaLabel = name;
  cell.style.gridArea = `${row} / ${column}`;
  cell.addEventListener('click', () => apply([part]));
  cells.set(part, cell);
  return cell;
}

// `doc`: document of the views, with a row per layer.
export function buildBoard(doc) {
  const columns = doc.columns.length;
  const board = byId('board');
  cells.clear();
  board.style.gridTemplateColumns = `max-content repeat(${columns + 1}, minmax(16px, 30px))`;
  const titles = [...doc.columns, 'MLP'].map((title, i) => {
    const node = element('span', {className: 'axis', textContent: title});
    node.style.gridArea = `1 / ${i + 2}`;
    return node;
  });
  const rows = doc.layers.map(({layer}, row) => {
    const whole = element('button', {type: 'button', className: 'axis', textContent: layer,
                                     title: `${say('one_layer')} ${layer}`});
    whole.style.gridArea = `${row + 2} / 1`;
    whole.addEventListener('click', () => apply([...doc.heads.filter((head) => head.layer === layer)
      .map(({name}) => name), `mlp.${layer}`]));
    return element('div', {className: 'row'}, whole, ...doc.heads.filter((head) => head.row === row).map((head) =>
      button(head.name, `${say('one_head')} ${head.name}`, row + 2, head.column + 2)),
      button(`mlp.${layer}`, `MLP ${layer}`, row + 2, columns + 2));
  });
  board.replaceChildren(...titles, ...rows);
  board.querySelectorAll('button').forEach((node, i) => { node.tabIndex = i === 0 ? 0 : -1; });
  showChanges();
  showClasses();
}

// Shows how much the patterns of heads changed. `shifts`: 0 to 1 by head name.
export function showShifts(shifts) {
  for (const [part, cell] of cells) {
    cell.style.setProperty('--shift', `${(100 * Math.min(1, 2 * (shifts.get(part) ?? 0))).toFixed(4)}%`);
  }
}

export function showClasses() {
  byId('class-chips').replaceChildren(...headsByClass(session.classes).map(({label, heads}) => {
    const chip = element('button', {type: 'button', className: 'chip',
                                    textContent: `${say('all_of')} ${label} (${heads.length})`});
    chip.addEventListener('click', () => apply(heads));
    return chip;
  }));
  for (const [part, cell] of cells) {
    const known = session.classes.get(part);
    cell.classList.toggle('classed', known !== undefined && isPattern(known.name));
    cell.title = known === undefined ? cell.ariaLabel : `${cell.ariaLabel}: ${known.label}${known.settled ? '' : ' ?'} ${known.score.toFixed(2)}`;
  }
}

export function release() {
  session.changes.clear();
  changed('changes');
}

export function openBoard() {
  byId('tools-of-board').append(...kTools.map((kind) => {
    const choice = element('button', {type: 'button', id: `tool-${kind}`, textContent: say(kind)});
    choice.addEventListener('click', () => chooseTool(kind));
    return choice;
  }));
  byId('factor').addEventListener('input', () => {
    byId('factor-value').textContent = `×${factor()}`;
    chooseTool('scale');
  });
  listenToArrows(byId('board'), 'button');
  byId('release').addEventListener('click', release);
  chooseTool('off');
}

function chooseTool(kind) {
  tool = kind;
  kTools.forEach((other) => { byId(`tool-${other}`).ariaPressed = String(other === kind); });
}
