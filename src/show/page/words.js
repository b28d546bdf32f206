// Texts of the page in the chosen language.
import {byId} from './dom.js';

const kClosedDigits = '013678';  // their Korean names end in a consonant
const kClosedLetters = 'lmnrLMNR';

// Returns the Korean particle for the last sound of `word`: `closed` after a consonant, `open` after
// a vowel, and both for a word whose sound is unknown.
export function particle(word, closed, open) {
  const last = word.replace(/[^\p{L}\p{N}]+$/u, '').slice(-1);
  if (/[가-힣]/.test(last)) {
    return (last.charCodeAt(0) - 0xAC00) % 28 > 0 ? closed : open;
  }
  if (/[0-9A-Za-z]/.test(last)) {
    return kClosedDigits.includes(last) || kClosedLetters.includes(last) ? closed : open;
  }
  return `${closed}(${open})`;
}

// Returns the language of an address, else that of the file, which may be the browser's.
export function languageOf(query, {lang, dataset}, browser) {
  const own = dataset.followsBrowser === undefined ? lang : browser;
  return (new URLSearchParams(query).get('lang') ?? own).startsWith('ko') ? 'ko' : 'en';
}

export const language = languageOf(location.search, document.documentElement, navigator.language);

const tables = JSON.parse(byId('words').textContent);  // by language; a page may have only its own
const words = tables[language] ?? Object.values(tables)[0];

function filled(value, form) {
  const [closed, open] = form?.split('/') ?? [];
  return form === undefined ? value : open !== undefined ? particle(value, closed, open)
    : `${value} ${form}${value === '1' ? '' : 's'}`;
}

// Returns a text with its values, or a list of texts; undefined for an unknown key. {name} is
// replaced by the value, {name:noun} by a number of things, {name:이/가} by the particle after it.
export function say(key, values = {}, table = words) {
  const fill = (text) =>
    text.replace(/\{(\w+)(?::([^}]+))?\}/g, (_, name, form) => filled(String(values[name]), form));
  const said = table[key];
  return Array.isArray(said) ? said.map(fill) : said && fill(said);
}

// Fills the elements that have data-say attributes.
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
