#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('attention').textContent);
byId('attention').remove();  // the parsed copy is enough
const darkGround = matchMedia('screen and (prefers-color-scheme: dark)');

// A document and its heads, layers as rows.
function readDocument(source, index) {
  const columns = [...new Set(source.layers.flatMap((layer) => layer.heads))]
    .sort((a, b) => a - b);
  const doc = {...source, index, columns, count: source.tokens.length};
  doc.heads = source.layers.flatMap((layer, row) => layer.heads.map((head, i) => ({
    doc, layer: layer.layer, head, row, column: columns.indexOf(head),
    name: `${layer.layer}.${head}`, code: layer.weights[i], width: layer.width ?? 0,
    vectors: layer.vectors?.[i] ?? null, score: source.scores[`${layer.layer}.${head}`] ?? null,
  })));
  doc.byName = new Map(doc.heads.map((head) => [head.name, head]));
  return doc;
}

const documents = data.documents.map(readDocument);
const longest = Math.max(...documents.map((doc) => doc.count));

// What the reader has chosen.
const view = {
  tab: data.view,
  doc: 0,                    // number of the document shown
  beside: data.beside,       // number of the one beside it, -1 for none
  head: documents[0].heads[0].name,  // the head of the head, neuron and enlarged model view
  open: false,               // the model view shows one head beside the text
  token: null,               // the token whose links are shown; null: the last one
  hovered: null,             // a token under the pointer takes its place
  direction: 'gives',        // or 'receives'
  kept: 'gives',             // the direction that pointing at a column only turns for a moment
  root: longest > data.linear_tokens,  // colour by the square root of the weight
  hideFirst: false,
  hidden: new Set(),         // names of the heads that the head view leaves out
};

const shownDocuments = () =>
  [documents[view.doc], ...(view.beside < 0 ? [] : [documents[view.beside]])];
const current = () => documents[view.doc].byName.get(view.head) ?? documents[view.doc].heads[0];
const focusToken = (doc) =>
  Math.min(view.hovered ?? view.token ?? doc.count - 1, doc.count - 1);

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

// The weights [T, T] of a head: 16-bit integers with the lower byte first, or 8-bit square roots.
function decode(head) {
  const {count, causal} = head.doc;
  const bytes = atob(head.code);
  const weights = new Float32Array(count * count);
  let at = 0;
  for (let query = 0; query < count; ++query) {
    const row = query * count;
    const end = causal ? query + 1 : count;
    for (let key = 0; key < end; ++key) {
      if (data.bits === 8) {
        weights[row + key] = (bytes.charCodeAt(at++) / 255) ** 2;
      } else {
        weights[row + key] = (bytes.charCodeAt(at) | bytes.charCodeAt(at + 1) << 8) / 65535;
        at += 2;
      }
    }
  }
  return weights;
}

// Queries or keys [T, D] of a head: signed 16-bit integers times a scale.
function decodeVectors({scale, code}) {
  const bytes = atob(code);
  return Float64Array.from({length: bytes.length / 2}, (_, i) =>
    (bytes.charCodeAt(2 * i) | bytes.charCodeAt(2 * i + 1) << 8) << 16 >> 16).map((v) => v * scale);
}

// Takes the first key out of every row and rescales the rest to sum to 1. Where it leaves next to
// nothing, rescaling would only enlarge rounding errors: such rows become blank.
function withoutFirst(weights, count) {
  for (let query = 0; query < count; ++query) {
    const row = weights.subarray(query * count, (query + 1) * count);
    row[0] = 0;
    const rest = row.reduce((sum, weight) => sum + weight, 0);
    for (let key = 1; key < count; ++key) {
      row[key] = rest < 0.001 ? 0 : row[key] / rest;
    }
  }
  return weights;
}

// The weights of a head as shown. Those used last stay decoded: a layer's, and a few more.
const decoded = new Map();
const kDecoded = 40;
function shownWeights(head) {
  const weights = decoded.get(head) ??
    (view.hideFirst ? withoutFirst(decode(head), head.doc.count) : decode(head));
  decoded.delete(head);
  decoded.set(head, weights);
  if (decoded.size > kDecoded) {
    decoded.delete(decoded.keys().next().value);
  }
  return weights;
}

// The weights as the model had them, whatever is hidden.
const recordedWeights = (head) => view.hideFirst ? decode(head) : shownWeights(head);

// True where there can be no weight to show.
const isBlank = (doc, query, key) => doc.causal && key > query || view.hideFirst && key === 0;

function readPalette(source) {
  const css = source.colours.match(/.{6}/g).map((digits) => `#${digits}`);
  const bytes = css.flatMap((colour) =>
    [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).concat(255));
  return {css, pixels: new Uint32Array(new Uint8Array(bytes).buffer), white: source.white_text};
}

const palettes = {light: readPalette(data.light), dark: readPalette(data.dark)};
const palette = () => darkGround.matches ? palettes.dark : palettes.light;
const strength = (weight) => view.root ? Math.sqrt(weight) : weight;
const level = (weight) => Math.round(255 * Math.min(1, strength(weight)));
const inkOn = (colourLevel) => palette().white[colourLevel] === '1' ? '#fff' : '#12141d';

// A colour for the i-th head of a layer or class of heads; neighbours differ much.
const distinctColour = (i) =>
  `oklch(${darkGround.matches ? '0.77 0.14' : '0.58 0.17'} ${(264 + i * 137.5) % 360})`;

const cssValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A token on one line with its position: "·keeper 4".
const tokenName = (doc, i) => [
  element('bdi', {className: 'label', textContent: doc.labels[i], translate: false}),
  ' ',
  element('span', {className: 'place', textContent: i}),
];

const headTitle = (head) => `Layer ${head.layer} · Head ${head.head}`;

// The class that a head was given, as a tag; null without one.
const classNames = [...new Set(documents.flatMap((doc) =>
  doc.heads.map((head) => head.score?.[0]).filter(Boolean)))].sort();
function classTag(head) {
  if (!head?.score) {
    return null;
  }
  const [name, score] = head.score;
  const dot = element('i', {className: 'dot'});
  dot.style.background = distinctColour(classNames.indexOf(name));
  return element('span', {className: 'tag', title: `${name}: ${score.toFixed(2)}`}, dot,
    element('span', {className: 'class', textContent: name}), ' ',
    element('b', {textContent: score.toFixed(2)}));
}

// How a document is named in the pickers and above its column.
function documentName(doc) {
  const several = new Set(documents.map((other) => other.title)).size > 1;
  // The mark that prompts begin with would only hide how texts differ.
  const text = doc.tokens.filter((token) => !/^<\|.*\|>$/.test(token)).join('').replace(/\s+/g, ' ').trim();
  const points = Array.from(text);
  const start = points.length > 44 ? `${points.slice(0, 43).join('')}…` : text;
  return several ? `${doc.title}: ${start}` : start || '∅';
}
)js";

}  // namespace

std::string_view attention_page_data_script() { return kScript; }

}  // namespace headlight
