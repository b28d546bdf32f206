// Weights of a head as shown, and figures computed from them.
import {decode} from './documents.js';
import {focusToken, view} from './state.js';
import {say} from './words.js';

const kDecoded = 40;           // most heads in the cache `decoded`: more than a layer's
const kSmallestLink = 0.0005;  // prints as 0.001

// Returns a weight in the format of the cells: "0.25" or "25%".
export const numberText = (weight, {decimals, percent} = view.numbers) =>
  percent ? `${(100 * weight).toFixed(decimals)}%` : weight.toFixed(decimals);

// Removes the first key from every row and rescales the rest to sum to 1. Rows with a rest below
// 0.001 become blank: rescaling would only enlarge rounding errors.
export function withoutFirst(weights, count) {
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

// head -> its weights as shown; the most recently used head is last.
const decoded = new Map();

export function shownWeights(head) {
  const weights = decoded.get(head) ??
    (view.hideFirst ? withoutFirst(decode(head), head.doc.count) : decode(head));
  decoded.delete(head);
  decoded.set(head, weights);
  if (decoded.size > kDecoded) {
    decoded.delete(decoded.keys().next().value);
  }
  return weights;
}

export function setHideFirst(hide) {
  view.hideFirst = hide;
  decoded.clear();
}

// Returns the recorded weights, even if the first token is hidden.
export const recordedWeights = (head) => view.hideFirst ? decode(head) : shownWeights(head);

// Returns true for cells without a weight: the future, or the hidden first token.
export const isBlank = (doc, query, key) =>
  doc.causal && key > query || view.hideFirst && key === 0;

// Returns the weight between the chosen token and token `i` in view.direction; null: blank.
export function linkWeight(head, i, chosen = focusToken(head.doc)) {
  const [query, key] = view.direction === 'gives' ? [chosen, i] : [i, chosen];
  return isBlank(head.doc, query, key) ? null : shownWeights(head)[query * head.doc.count + key];
}

// Returns the `limit` largest weights as [weight, token], the largest first.
export function strongest(count, weightOf, limit) {
  const links = [];
  for (let i = 0; i < count; ++i) {
    const weight = weightOf(i);
    if (weight >= kSmallestLink) {
      links.push([weight, i]);
    }
  }
  return links.sort((a, b) => b[0] - a[0]).slice(0, limit);
}

// Returns [name, value, unit] of a head's means over all queries but the first: weight to the
// previous token, the first token and the query itself, and entropy in nats.
export function summary(head) {
  const {count} = head.doc;
  const weights = shownWeights(head);
  const mean = (value) => {
    let sum = 0;
    for (let query = 1; query < count; ++query) {
      sum += value(weights.subarray(query * count, (query + 1) * count), query);
    }
    return count > 1 ? sum / (count - 1) : null;
  };
  const entropy = (row) => row.reduce((sum, p) => p > 0 ? sum - p * Math.log(p) : sum, 0);
  return [
    [say('previous_token'), mean((row, query) => row[query - 1])],
    [say('first_token'), view.hideFirst ? null : mean((row) => row[0])],
    [say('itself'), mean((row, query) => row[query])],
    [say('entropy'), mean(entropy), say('nats')],
  ].filter(([, value]) => value !== null);
}
