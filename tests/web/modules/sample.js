// Sample page for tests: two documents of two layers with three heads.
import {setPalettes} from '../../../src/show/page/colours.js';
import {openTab, setViews} from '../../../src/show/page/page.js';
import {openDocuments, shownDocuments, view} from '../../../src/show/page/state.js';
import {setHideFirst} from '../../../src/show/page/weights.js';

const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

export const code16 = (weights) => base64(weights.flatMap((weight) => {
  const integer = Math.round(weight * 65535);
  return [integer & 255, integer >> 8];
}));

export const code8 = (weights) =>
  base64(weights.map((weight) => Math.round(Math.sqrt(weight) * 255)));

export const vectorCode = (numbers, scale) => ({
  scale,
  code: base64(numbers.flatMap((number) => {
    const integer = Math.round(number / scale) & 65535;
    return [integer & 255, integer >> 8];
  })),
});

// Returns the weights of head h: a query gives 0.75 to the token h places before it (or the first)
// and 0.25 to itself. Rows end at the diagonal.
export const sampleWeights = (head, count) =>
  Array.from({length: count}, (_, query) => {
    const row = Array(query + 1).fill(0);
    row[Math.max(0, query - head)] += 0.75;
    row[query] += 0.25;
    return row;
  }).flat();

function sampleDocument(title, tokens) {
  const count = tokens.length;
  const layer = (number) => ({
    layer: number, heads: [0, 1, 2],
    weights: [0, 1, 2].map((head) => code16(sampleWeights(head, count))),
  });
  // The second layer has queries (1, 0) and keys (token, 1).
  const vectors = {
    queries: vectorCode(tokens.flatMap(() => [1, 0]), 1 / 1024),
    keys: vectorCode(tokens.flatMap((_, token) => [token, 1]), 1 / 1024),
  };
  return {title, tokens, labels: tokens.map((token) => token.replace(' ', '·').replace('\n', '⏎')),
          scores: {'0.1': ['previous token', 0.75], '1.2': ['other', 0.5]}, causal: true,
          layers: [layer(0), {...layer(1), width: 2, scale: 1 / Math.sqrt(2), window: 0, vectors: [vectors, vectors, vectors]}]};
}

// 256 greys from black to white, the dark palette. The light palette reverses them.
const greys = Array.from({length: 256}, (_, i) => i.toString(16).padStart(2, '0').repeat(3));

export const sampleData = () => ({
  bits: 16, view: 'model', beside: 1, linear_tokens: 12,
  light: {colours: greys.toReversed().join(''), white_text: '0'.repeat(128) + '1'.repeat(128)},
  dark: {colours: greys.join(''), white_text: '1'.repeat(128) + '0'.repeat(128)},
  documents: [sampleDocument('toy', ['the', ' cat', ' sat', '\n', ' down']),
              sampleDocument('toy', ['a', ' dog'])],
});

// Opens the sample with all view settings at their defaults.
export function openSample(data = sampleData()) {
  Object.assign(view, {doc: 0, open: false, token: null, hovered: null, direction: 'gives',
                       kept: 'gives', hidden: new Set()});
  openDocuments(data);
  setPalettes(data);
  setHideFirst(false);
}

// Opens the sample in `tab` with views that draw nothing; more() returns their further members.
export function openBlank(tab, data, more = () => ({})) {
  openSample(data);
  const build = () => ({
    panes: shownDocuments().map((doc) => ({doc, head: null, showToken() {},
                                           node: document.createElement('p')})),
    ...more(),
  });
  setViews({model: build, head: build, neuron: build, grid: build});
  openTab(tab);
}
