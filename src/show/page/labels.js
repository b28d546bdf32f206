// Labels of documents, heads, classes of heads, and tokens.
import {distinctColour} from './colours.js';
import {element} from './dom.js';
import {classNames, documents} from './state.js';
import {say} from './words.js';

// Label of a token with its position: "·keeper 4".
export const tokenName = (doc, i) => [
  element('bdi', {className: 'label', textContent: doc.labels[i], translate: false}),
  ' ',
  element('span', {className: 'place', textContent: i}),
];

export const headTitle = (head) => say('head_title', {layer: head.layer, head: head.head});

// Name of a head's class, with " ?" if it may be chance.
export const classLabel = ([name, , settled = true]) => settled ? name : `${name} ?`;

export const dot = (colour) => element('i', {className: 'dot', style: `background: ${colour}`});

// Returns a tag with the class and score of a head; null without a class.
export function classTag(head) {
  if (!head?.score) {
    return null;
  }
  const label = classLabel(head.score);
  const score = head.score[1].toFixed(2);
  return element('span', {className: 'tag', title: `${label}: ${score}`},
    dot(distinctColour(classNames.indexOf(head.score[0]))),
    element('span', {className: 'class', textContent: label}), ' ',
    element('b', {textContent: score}));
}

// Returns the name of a document for the pickers and the heading of its column.
export function documentName(doc) {
  const several = new Set(documents.map((other) => other.title)).size > 1;
  // Special tokens such as <|endoftext|> would hide how the texts differ.
  const text = doc.tokens.filter((token) => !/^<\|.*\|>$/.test(token)).join('')
    .replace(/\s+/g, ' ').trim();
  const points = Array.from(text);
  const start = points.length > 44 ? `${points.slice(0, 43).join('')}…` : text;
  return several ? `${doc.title}: ${start}` : start || '∅';
}
