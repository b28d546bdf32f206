import {filledTable, linksTable, listLinks} from '../../../src/show/page/links.js';
import {documents, view} from '../../../src/show/page/state.js';
import {setHideFirst} from '../../../src/show/page/weights.js';
import {equal, test} from './harness.js';
import {openSample, sampleData} from './sample.js';

const listed = (name) => {
  const [title, list] = [document.createElement('h3'), document.createElement('ol')];
  listLinks(documents[0].byName.get(name), title, list);
  return [title.textContent.trim(), ...[...list.children].map((row) => row.textContent)];
};

test('a token lists the tokens it attends to, the strongest first', () => {
  openSample();
  view.token = 3;
  equal(listed('0.1'), ['⏎ 3 attends to', '·sat 20.750', '⏎ 30.250']);
});

test('a token lists the queries that attend to it and the sum of their weights', () => {
  openSample();
  view.token = 1;
  view.direction = 'receives';
  equal(listed('0.1'),
        ['·cat 1 is attended to by 1.00 in sum over all queries', '·sat 20.750', '·cat 10.250']);
  equal(listed('0.0').length, 2);
});

test('a token without links shows a note', () => {
  openSample();
  view.token = 0;
  setHideFirst(true);
  equal(listed('1.1'), ['the 0 gives no weight to show']);
});

test('the table of a head has a row for every query', () => {
  openSample();
  const table = filledTable(documents[0].byName.get('0.1'));
  equal(table.tBodies[0].rows.length, 5);
  equal([...table.tBodies[0].rows[2].cells].map((cell) => cell.textContent),
        ['·sat 2', '·cat 1 0.750', '·sat 2 0.250', '', '', '']);
});

test('the table of a long text has the queries with the most concentrated weights', () => {
  const data = sampleData();
  const [doc] = data.documents;
  const count = 120;
  doc.tokens = doc.labels = Array.from({length: count}, (_, i) => `t${i}`);
  // Every sixth query attends only to itself; the others spread their weight evenly.
  const rows = Array.from({length: count}, (_, query) => Array.from({length: query + 1}, (_, key) =>
    query % 6 === 0 ? Number(key === query) : 1 / (query + 1)));
  const bytes = rows.flat().flatMap((weight) => {
    const integer = Math.round(weight * 65535);
    return [integer & 255, integer >> 8];
  });
  doc.layers[0].weights[0] = btoa(String.fromCharCode(...bytes));
  openSample(data);
  const table = filledTable(documents[0].byName.get('0.0'));
  const queries = [...table.tBodies[0].rows]
    .map((row) => Number(row.querySelector('.place').textContent));
  equal(queries.length, 100);
  equal(queries.filter((query) => query % 6 === 0).length, 20);
  equal(queries.slice(0, 3), [0, 1, 2], 'in the order of the text:');
  equal(table.caption.textContent.includes('of the 100 most decided queries'), true);
});

test('the table is filled when it is opened', async () => {
  openSample();
  const box = linksTable(documents[0].byName.get('0.1'));
  equal(box.querySelector('table'), null);
  document.body.append(box);
  box.open = true;
  await new Promise((done) => box.addEventListener('toggle', done));
  equal(box.querySelectorAll('tbody tr').length, 5);
  box.remove();
});
