// Documents of the page, and the reader's choices.
import {readDocument} from './documents.js';

// Views in the order of their tabs and digit keys.
export const kTabs = ['model', 'head', 'neuron', 'grid'];

export let documents = [];
export let longest = 0;      // tokens of the longest document
export let classNames = [];  // sorted classes of heads in all documents
export let opening = {};     // initial selection: {tab, beside}

export const view = {
  tab: 'model',
  doc: 0,                    // index of the document shown
  beside: -1,                // index of the document beside it; -1: none
  head: '0.0',               // head of the neuron and enlarged model views, layer of the others
  open: false,               // the model view shows one head beside the text
  token: null,               // token whose links are shown; null: the last one
  hovered: null,             // token under the pointer, which replaces `token`
  direction: 'gives',        // or 'receives'
  kept: 'gives',             // direction to restore when the pointer leaves a column of tokens
  numbers: {},               // format of the weights in cells: {decimals, percent}
  root: false,               // colour by the square root of the weight
  hideFirst: false,
  hidden: new Set(),         // names of the heads that the head view omits
};

function readDocuments(data) {
  view.numbers = {decimals: data.decimals ?? 2, percent: data.percent ?? false};
  documents = data.documents.map((source, index) => readDocument(source, index, data.bits));
  longest = Math.max(...documents.map((doc) => doc.count));
  classNames = [...new Set(documents.flatMap((doc) =>
    doc.heads.map((head) => head.score?.[0]).filter(Boolean)))].sort();
}

// Opens the page's data.
export function openDocuments(data) {
  readDocuments(data);
  opening = {tab: data.view, beside: data.beside};
  view.tab = data.view;
  view.beside = data.beside;
  view.head = documents[0].heads[0].name;
  view.root = longest > data.linear_tokens;
}

// Replaces the documents and keeps the choices that are still valid.
export function renewDocuments(data) {
  readDocuments(data);
  opening = {...opening, beside: data.beside};
  view.doc = Math.min(view.doc, documents.length - 1);
  view.beside = data.beside;
  view.head = documents[view.doc].byName.has(view.head) ? view.head : documents[0].heads[0].name;
  view.token = view.token === null || view.token >= longest ? null : view.token;
  view.hovered = null;
}

export const shownDocuments = () =>
  [documents[view.doc], ...(view.beside < 0 ? [] : [documents[view.beside]])];
export const current = () =>
  documents[view.doc].byName.get(view.head) ?? documents[view.doc].heads[0];
export const layerHeads = (doc) => doc.heads.filter((head) => head.layer === current().layer);
export const focusToken = (doc) =>
  Math.min(view.hovered ?? view.token ?? doc.count - 1, doc.count - 1);
