import {neighbour, onKey} from '../../../src/show/page/keyboard.js';
import {current, view} from '../../../src/show/page/state.js';
import {equal, test} from './harness.js';
import {openBlank, sampleData} from './sample.js';

const focused = [];

function openKeys(changes = {}) {
  focused.length = 0;
  openBlank('model', {...sampleData(), beside: -1},
            () => ({focusHead: (head) => focused.push(head.name)}));
  Object.assign(view, changes);
}

// Presses a key; returns true if the page used it.
function press(key, properties = {}) {
  let used = false;
  onKey({key, target: document.body, preventDefault: () => { used = true; }, ...properties});
  return used;
}

function inside(role, className = '') {
  const target = document.createElement('div');
  target.setAttribute('role', role);
  target.className = className;
  return {target};
}

const keys = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

test('the neighbour of a head is the nearest one in a direction, or itself', () => {
  const heads = [[0, 0], [0, 2], [0, 3], [2, 1], [1, 3]].map(([row, column]) => ({row, column}));
  heads.forEach((head) => { head.doc = {heads}; });
  const around = (head) => keys.map((key) => heads.indexOf(neighbour(head, key)));
  equal(around(heads[0]), [0, 1, 0, 4]);
  equal(around(heads[1]), [0, 2, 1, 4]);
  equal(around(heads[3]), [3, 3, 4, 3]);
});

test('arrows move through the thumbnails', () => {
  openKeys();
  document.activeElement?.blur();
  equal([press('ArrowRight'), press('ArrowDown'), press('ArrowUp'), press('ArrowUp')],
        [true, true, true, true]);
  equal(focused, ['0.1', '1.1', '0.1', '0.1']);
});

test('arrows choose another head if one is open', () => {
  openKeys({tab: 'neuron', head: '0.0'});
  press('ArrowDown');
  equal([current().name, location.hash], ['1.0', '#neuron/1.0']);
  press('ArrowLeft');
  equal(current().name, '1.0', 'at the border it stays:');
});

test('in a text arrows choose a token', () => {
  openKeys({tab: 'neuron'});
  const text = inside('listbox');
  press('ArrowLeft', text);
  equal(view.token, 3);
  press('Home', text);
  equal(view.token, 0);
  press('ArrowLeft', text);
  equal(view.token, 0);
  press('End', text);
  equal(view.token, 4);
  equal([press('ArrowUp', text), view.token], [true, 4], 'and do not move the page:');
  equal(press('x', text), false);
});

test('in columns of tokens up and down choose a token and the column sets the direction', () => {
  openKeys({tab: 'head'});
  press('ArrowUp', inside('listbox', 'tokens right'));
  equal([view.token, view.direction, view.kept], [3, 'receives', 'receives']);
  press('ArrowDown', inside('listbox', 'tokens left'));
  equal([view.token, view.direction], [4, 'gives']);
});

test('tabs follow the arrows in a circle', () => {
  openKeys();
  equal([press('ArrowLeft', inside('tab')), view.tab], [true, 'grid']);
  press('ArrowRight', inside('tab'));
  equal([view.tab, document.activeElement.id], ['model', 'tab-model']);
  equal(press('ArrowDown', inside('tab')), false);
});

test('digits switch views', () => {
  openKeys();
  const tabs = ['1', '2', '3', '4', '5', '0'].map((key) => (press(key), view.tab));
  equal(tabs, ['model', 'head', 'neuron', 'grid', 'grid', 'grid']);
});

test('the page ignores keys with modifiers and keys of a picker', () => {
  openKeys();
  press('2', {ctrlKey: true});
  press('2', {shiftKey: true});
  press('2', {target: document.getElementById('document')});
  equal(view.tab, 'model');
});

test('Escape clears the token of the head view and closes the head of the model view', () => {
  openKeys({tab: 'head', token: 2});
  press('Escape');
  equal([view.token, view.tab], [null, 'head']);
  openKeys({open: true, token: 2});
  press('Escape');
  equal([view.open, view.token], [false, 2]);
});
