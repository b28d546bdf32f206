// Neuron view: the query and keys of a head, multiplied step by step.
import {darkGround} from '../colours.js';
import {decodeVectors} from '../documents.js';
import {element, tableOf} from '../dom.js';
import {tokenName} from '../labels.js';
import {weightBar} from '../links.js';
import {focusToken, shownDocuments, view} from '../state.js';
import {textBox} from '../text.js';
import {hideTip, showTip} from '../tip.js';
import {headTools} from '../toolbar.js';
import {recordedWeights} from '../weights.js';
import {say} from '../words.js';

const kMostKeys = 128;  // most rows of the neuron view: the keys with the largest weights

// Returns a row of pixels: blue above 0, orange below, more opaque for larger numbers.
export function numberPixels(values, largest) {
  const image = new ImageData(values.length, 1);
  const [positive, negative] = darkGround.matches
    ? [[104, 170, 255], [255, 150, 60]] : [[30, 90, 225], [220, 95, 10]];
  values.forEach((value, i) => {
    const alpha = Math.round(255 * Math.min(1, Math.abs(value) / (largest || 1)));
    image.data.set([...(value < 0 ? negative : positive), alpha], 4 * i);
  });
  return image;
}

// Returns a vector as a strip of cells with tooltips.
function strip(name, values, largest) {
  const onpointermove = (event) => {
    const box = canvas.getBoundingClientRect();
    const i = Math.min(values.length - 1,
      Math.max(0, Math.floor((event.clientX - box.left) / box.width * values.length)));
    showTip(event, name, `[${i}] = `, element('b', {textContent: values[i].toFixed(3)}));
  };
  const canvas = element('canvas', {className: 'strip', width: values.length, height: 1,
                                    role: 'img', ariaLabel: say('vector_numbers', {name, count: values.length}),
                                    onpointermove, onpointerleave: hideTip});
  canvas.getContext('2d').putImageData(numberPixels(values, largest), 0, 0);
  return canvas;
}

// Computes the weights of one query from the vectors of a head; returns all intermediate values.
export function neuronSteps(head, query) {
  const {doc, width, vectors} = head;
  head.queries ??= decodeVectors(vectors.queries);
  head.keys ??= decodeVectors(vectors.keys);
  const q = head.queries.slice(query * width, (query + 1) * width);
  const keys = [];
  for (let key = head.window ? Math.max(0, query + 1 - head.window) : 0; key < (doc.causal ? query + 1 : doc.count); ++key) {
    const k = head.keys.slice(key * width, (key + 1) * width);
    const product = k.map((value, i) => value * q[i]);
    const score = product.reduce((a, b) => a + b, 0) * head.scale;
    keys.push({key, k, product, score: head.cap ? head.cap * Math.tanh(score / head.cap) : score});
  }
  const largest = Math.max(...keys.map(({score}) => score));
  const sum = keys.reduce((all, {score}) => all + Math.exp(score - largest), 0);
  keys.forEach((step) => { step.weight = Math.exp(step.score - largest) / sum; });
  return {q, keys};
}

const largestOf = (arrays) => arrays.reduce((most, values) =>
  values.reduce((a, value) => Math.max(a, Math.abs(value)), most), 0);

function neuronRow(doc, step, scales) {
  const name = doc.labels[step.key];
  return element('tr', {},
    element('th', {scope: 'row'}, ...tokenName(doc, step.key)),
    element('td', {}, strip(say('vector_key', {label: name}), step.k, scales.k)),
    element('td', {}, strip(say('vector_product', {label: name}), step.product, scales.product)),
    element('td', {className: 'number', textContent: step.score.toFixed(2)}),
    element('td', {className: 'number', textContent: step.weight.toFixed(3)}),
    element('td', {className: 'bar-cell', ariaHidden: 'true'}, weightBar(step.weight)));
}

function neuronTable(head, query) {
  const {doc} = head;
  const {q, keys} = neuronSteps(head, query);
  const shown = [...keys].sort((a, b) => b.weight - a.weight).slice(0, kMostKeys)
    .sort((a, b) => a.key - b.key);
  const scales = {k: largestOf(keys.map(({k}) => k)),
                  product: largestOf(keys.map(({product}) => product))};
  const table = tableOf('', say('neuron_columns', {width: head.width}),
                        shown.map((step) => neuronRow(doc, step, scales)));
  table.className = 'neurons';
  const own = recordedWeights(head);
  const error = keys.reduce((most, {key, weight}) =>
    Math.max(most, Math.abs(weight - own[query * doc.count + key])), 0);
  table.caption.replaceChildren(
    ...(keys.length > shown.length
      ? [say('largest_keys', {shown: shown.length, all: keys.length})] : []),
    say('neuron_error'),
    element('span', {className: 'difference', textContent: error < 0.0001
      ? say('less_than', {bound: 0.0001}) : say('at_most', {bound: error.toFixed(4)})}), say('neuron_error_end'));
  const queryLine = element('p', {className: 'query-line'}, `${say('query')} `,
                            ...tokenName(doc, query),
                            strip(say('vector_query', {label: doc.labels[query]}), q,
                                  largestOf([q])));
  return [queryLine, element('div', {className: 'scroller'}, table)];
}

function neuronPane(doc, number) {
  const head = doc.byName.get(view.head) ?? null;
  const text = textBox(doc, number);
  const steps = element('div', {className: 'steps'});
  const pane = {doc, head, scroll: text.scroll,
                node: element('div', {}, text.node, steps)};
  text.node.classList.add('short');
  pane.showToken = () => {
    text.mark();
    if (head?.vectors) {
      const place = scrollY;
      steps.replaceChildren(...neuronTable(head, focusToken(doc)));
      scrollTo(scrollX, place);
    } else {
      steps.replaceChildren(element('p', {className: 'hint missing', textContent:
        head === null ? say('no_head', {name: view.head}) : say('no_vectors')}));
    }
  };
  return pane;
}

export function buildNeuronView() {
  return {panes: shownDocuments().map(neuronPane), tools: headTools(), hint: say('neuron_hint')};
}
