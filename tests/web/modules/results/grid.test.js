import {buildGrid, largestOf, valueText} from '../../../../src/show/page/results/grid.js';
import {equal, test} from '../harness.js';

const sample = () => ({
  title: 'Shares', note: '', row_title: 'layer', column_title: 'head', rows: ['0', '1'],
  columns: ['0', '1'], values: [1, -0.5, null, 0.001], lows: [0.5, -1, null, 0],
  highs: [1.5, 0, null, 0.002], texts: [], limit: 1, doubtful: false,
});
const cells = (section) => [...section.querySelectorAll('td')];

test('values have as many digits as their size asks for, and no minus before zero', () => {
  equal([valueText(0.125, 1), valueText(-0.001, 1), valueText(12.34, 20), valueText(123.4, 200),
         valueText(0.5, 1, true)],
        ['0.13', '0.00', '12.3', '123', '0.50?']);
});

test('colours span the values if no limit is given', () => {
  equal([largestOf({limit: 2, values: [5]}), largestOf({limit: 0, values: [1, -3, null]}),
         largestOf({limit: 0, values: [0]})], [2, 3, 1]);
});

test('a cell shows its value by text and colour; a gap is empty', () => {
  const shown = cells(buildGrid(sample()));
  equal(shown.map((cell) => cell.textContent), ['1.00', '-0.50', '', '0.00']);
  equal(shown.map((cell) => cell.className), ['strong', 'below', 'missing', '']);
  equal(shown[1].style.getPropertyValue('--share'), '50.0%');
});

test('texts replace values, and a list has no column titles', () => {
  const grid = {...sample(), texts: ['<a>', 'b', 'c', 'd'], note: 'caution'};
  const section = buildGrid(grid);
  equal(cells(section)[0].textContent, '<a>');
  equal(section.querySelector('.note').textContent, 'caution');
  const list = {...sample(), column_title: '', columns: [''], values: [1, 2]};
  equal(buildGrid(list).querySelector('thead').textContent, 'layer');
});

test('pointing at a cell shows row, column, value and interval', () => {
  const section = buildGrid(sample());
  document.body.append(section);
  cells(section)[1].dispatchEvent(new PointerEvent('pointermove', {bubbles: true}));
  equal(document.getElementById('tip').textContent,
        '-0.5layer 0, head 1 · 95 % interval -1.00 to 0.00');
  cells(section)[2].dispatchEvent(new PointerEvent('pointermove', {bubbles: true}));
  equal(document.getElementById('tip').hidden, true);
  section.remove();
});
