// What is said to the reader, in one language.
import {english} from './english.js';

let words = english;

// Takes a table in the place of English: texts, and functions of what stands in them.
export function setWords(table) {
  words = table;
}

export function say(key, ...values) {
  const said = words[key];
  return typeof said === 'function' ? said(...values) : said;
}
