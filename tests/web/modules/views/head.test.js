import {render, setViews} from '../../../../src/show/page/page.js';
import {documents, view} from '../../../../src/show/page/state.js';
import {buildHeadView, linksInSight} from '../../../../src/show/page/views/head.js';
import {equal, near, test} from '../harness.js';
import {openSample, sampleData} from '../sample.js';

const stage = document.getElementById('stage');

// Returns [query, key, head] of the links beside rows [first, last).
const links = (first, last) => linksInSight(documents[0], first, last)
  .map(([, query, key, head]) => [query, key, head.head]).sort();

function openLines() {
  openSample({...sampleData(), beside: -1});
  view.tab = 'head';
  setViews({head: buildHeadView});
  render();
}

test('visible rows have the links of their tokens', () => {
  openSample();
  view.hidden = new Set(['0.0', '0.2']);
  equal(links(0, 2), [[0, 0, 1], [1, 0, 1], [1, 1, 1]]);
  view.direction = 'receives';
  equal(links(0, 1), [[0, 0, 1], [1, 0, 1]]);
});

test('a chosen token shows only its own links, for all heads that are not hidden', () => {
  openSample();
  view.token = 3;
  equal(links(0, 5), [[3, 1, 2], [3, 2, 1], [3, 3, 0], [3, 3, 1], [3, 3, 2]]);
  view.hidden = new Set(['0.1']);
  equal(links(0, 5), [[3, 1, 2], [3, 3, 0], [3, 3, 2]]);
});

test('the strongest links come first', () => {
  openSample();
  const weights = linksInSight(documents[0], 0, 5).map(([weight]) => weight);
  equal(weights, [...weights].sort((a, b) => b - a));
  near(weights[0], 1, 1e-5);
});

test('chips hide heads; a double click leaves one', () => {
  openLines();
  const chips = [...document.querySelectorAll('.chip')];
  chips[1].click();
  equal([...view.hidden], ['0.1']);
  equal(chips.map((chip) => chip.getAttribute('aria-pressed')), ['true', 'false', 'true']);
  chips[2].dispatchEvent(new MouseEvent('click', {detail: 2}));
  equal([...view.hidden], ['0.0', '0.1']);
});

test('a click on a token lists its links by head', () => {
  openLines();
  stage.querySelector('.tokens.left [data-token="2"]').click();
  equal(stage.querySelector('caption').textContent, 'What ·sat at 2 attends to, by head');
  equal([...stage.querySelector('tbody').rows].map((row) => row.cells[1].textContent),
        ['·sat 2 1.000', '·cat 1 0.750', 'the 0 0.750']);
  stage.querySelector('.tokens.left [data-token="2"]').click();
  equal([view.token, stage.querySelector('details').hidden], [null, true], 'again gives it up:');
});
