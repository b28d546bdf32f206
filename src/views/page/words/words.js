// Texts of the page in the chosen language.
import {english} from './english.js';

let words = english;

// Replaces the English texts by a table of texts and of functions that return texts.
export const setWords = (table) => { words = table; };

export function say(key, ...values) {
  const said = words[key];
  return typeof said === 'function' ? said(...values) : said;
}
