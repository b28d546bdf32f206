import {byId, cssValue, element, option, picker, tableOf} from '../../../src/show/page/dom.js';
import {equal, test} from './harness.js';

test('an element has its properties and children, texts as texts', () => {
  const node = element('p', {className: 'a', title: 'b'}, '<b>', element('i'));
  equal(node.outerHTML, '<p class="a" title="b">&lt;b&gt;<i></i></p>');
});

test('a picker passes the chosen number to its callback', () => {
  const chosen = [];
  const label = picker('Layer', [option(3, 'three', false), option(5, 'five', true)],
                       (value) => chosen.push(value));
  const select = label.querySelector('select');
  equal([label.textContent, select.value], ['Layer threefive', '5']);
  select.value = 3;
  select.dispatchEvent(new Event('change'));
  equal(chosen, [3]);
});

test('a table has a caption, a row of titles, and rows', () => {
  const table = tableOf('all', ['x', 'y'], [element('tr', {}, element('td'))]);
  equal(table.caption.textContent, 'all');
  equal([...table.tHead.rows[0].cells].map((cell) => [cell.scope, cell.textContent]),
        [['col', 'x'], ['col', 'y']]);
  equal(table.tBodies[0].rows.length, 1);
});

test('elements and colours of the page are found by name', () => {
  equal(byId('stage').id, 'stage');
  equal(/^#[0-9a-f]{6}$/.test(cssValue('--accent')), true);
});
