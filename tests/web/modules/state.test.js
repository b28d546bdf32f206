import {classNames, current, documents, focusToken, kTabs, layerHeads, longest, opening,
        shownDocuments, view} from '../../../src/show/page/state.js';
import {equal, test} from './harness.js';
import {openSample, sampleData} from './sample.js';

test('a page opens with the view and head in its data', () => {
  openSample({...sampleData(), view: 'grid', beside: -1});
  equal([view.tab, view.beside, view.head, view.root], ['grid', -1, '0.0', false]);
  equal(opening, {tab: 'grid', beside: -1});
  equal(longest, 5);
  equal(classNames, ['other', 'previous token']);
  equal(kTabs, ['model', 'head', 'neuron', 'grid']);
});

test('long texts begin with the square root', () => {
  openSample({...sampleData(), linear_tokens: 4});
  equal(view.root, true);
});

test('the second document is shown if one is chosen', () => {
  openSample();
  equal(shownDocuments().map(({index}) => index), [0, 1]);
  view.beside = -1;
  equal(shownDocuments().map(({index}) => index), [0]);
});

test('a head that a document lacks is replaced by its first', () => {
  openSample();
  view.head = '1.2';
  equal(current().name, '1.2');
  equal(layerHeads(documents[1]).map(({name}) => name), ['1.0', '1.1', '1.2']);
  view.head = '7.7';
  equal(current().name, '0.0');
});

test('the token under the pointer comes before the chosen one, and that before the last', () => {
  openSample();
  equal(focusToken(documents[0]), 4);
  view.token = 2;
  equal(focusToken(documents[0]), 2);
  equal(focusToken(documents[1]), 1, 'a shorter document shows its last:');
  view.hovered = 0;
  equal(focusToken(documents[0]), 0);
});
