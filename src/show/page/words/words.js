// Texts of the page in the chosen language.
import {english} from './english.js';

let words = english;

// Replaces the English texts by a table of texts and of functions that return texts.
export const setWords = (table) => { words = table; };

export function say(key, ...values) {
  const said = words[key];
  return typeof said === 'function' ? said(...values) : said;
}

// Fills the elements of index.html that have data-say attributes.
export function fillTexts(root) {
  for (const node of root.querySelectorAll('[data-say]')) {
    node.textContent = say(node.dataset.say);
  }
  for (const node of root.querySelectorAll('[data-say-label]')) {
    node.ariaLabel = say(node.dataset.sayLabel);
  }
  for (const node of root.querySelectorAll('[data-say-title]')) {
    node.title = say(node.dataset.sayTitle);
  }
}
