#include "heads/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('attention').textContent);
const count = data.tokens.length;  // T
const columns = [...new Set(data.layers.flatMap((layer) => layer.heads))].sort((a, b) => a - b);
const heads = data.layers.flatMap((layer, row) => layer.heads.map((head, i) => ({
  layer: layer.layer, head, row, column: columns.indexOf(head),
  name: `${layer.layer}.${head}`, code: layer.weights[i],
})));
const darkGround = matchMedia('screen and (prefers-color-scheme: dark)');

// What the reader has chosen.
const view = {
  head: null,            // the open head, or null for the overview
  weights: null,         // [T, T] of the open head, as shown
  token: count - 1,      // the token whose links colour the text
  hovered: null,         // a token under the pointer takes its place
  direction: 'gives',    // or 'receives'
  root: !data.linear,    // colour by the square root of the weight
  hideFirst: false,
};

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

// The weights [T, T] of a head, from 16-bit integers with the lower byte first.
function decode(head) {
  const bytes = atob(head.code);
  const weights = new Float64Array(count * count);
  let at = 0;
  for (let query = 0; query < count; ++query) {
    const end = data.causal ? query + 1 : count;
    for (let key = 0; key < end; ++key, at += 2) {
      const integer = bytes.charCodeAt(at) | bytes.charCodeAt(at + 1) << 8;
      weights[query * count + key] = integer / 65535;
    }
  }
  return weights;
}

// Takes the first key out of every row and rescales the rest to sum to 1. Where it leaves next to
// nothing, rescaling would only enlarge rounding errors: such rows become blank.
function withoutFirst(weights) {
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

const shownWeights = (head) => view.hideFirst ? withoutFirst(decode(head)) : decode(head);

// True where there can be no weight to show.
const isBlank = (query, key) => data.causal && key > query || view.hideFirst && key === 0;

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

const cssValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A token on one line with its position: "·keeper 4".
const tokenName = (i) => [
  element('bdi', {className: 'label', textContent: data.labels[i], translate: false}),
  ' ',
  element('span', {className: 'place', textContent: i}),
];

function drawLegend() {
  const canvas = byId('legend');
  const context = canvas.getContext('2d');
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(palette().pixels);
  context.putImageData(image, 0, 0);
  const ticks = view.root ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  byId('ticks').replaceChildren(...ticks.map((weight) => {
    const tick = element('span', {textContent: weight});
    tick.style.left = `${100 * strength(weight)}%`;
    return tick;
  }));
}

// Means over the queries of the open head: how much goes to the token before, the first one and
// the token itself, and how widely a query spreads its weight.
function summary(weights) {
  const mean = (from, value) => {
    let sum = 0;
    for (let query = from; query < count; ++query) {
      sum += value(weights.subarray(query * count, (query + 1) * count), query);
    }
    return count > from ? sum / (count - from) : null;
  };
  const entropy = (row) => row.reduce((sum, p) => p > 0 ? sum - p * Math.log2(p) : sum, 0);
  return [
    ['Previous token', mean(1, (row, query) => row[query - 1])],
    ['First token', view.hideFirst ? null : mean(1, (row) => row[0])],
    ['Itself', mean(1, (row, query) => row[query])],
    ['Entropy', mean(1, entropy), ' bits'],
  ];
}
)js";

}  // namespace

std::string_view attention_page_data_script() { return kScript; }

}  // namespace headlight
