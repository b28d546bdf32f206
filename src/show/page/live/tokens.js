// Names of tokens in the server's answers, and their display.
import {element} from '../dom.js';

export const percent = (probability) => probability >= 0.1 ? `${(100 * probability).toFixed(0)} %`
  : probability >= 0.001 ? `${(100 * probability).toFixed(1)} %` : '< 0.1 %';

// Recognises usual names of special tokens, also the ones of Llama, Mistral and Gemma.
export const isSpecial = (name) =>
  /^(<\|.*\|>|<\/?s>|<(bos|eos|pad|unk|(start|end)_of_turn)>|\[\/?INST\])$/.test(name);

// Returns the bytes of a token name: a text, in which parts of characters are "<0xE2><0x80>", or
// "bytes:\xe2\x80".
export function bytesOf(name) {
  if (/^bytes:(\\x[0-9a-f]{2})+$/.test(name)) {
    return Uint8Array.from(name.slice('bytes:'.length).match(/[0-9a-f]{2}/g), (digits) => parseInt(digits, 16));
  }
  const parts = name.split(/<0x([0-9A-F]{2})>/);  // every second one is a byte
  return Uint8Array.from(parts.flatMap((part, i) =>
    i % 2 === 1 ? [parseInt(part, 16)] : [...new TextEncoder().encode(part)]));
}

// Returns the token on one line, with visible blanks and bytes.
export const shownToken = (token) => token.replaceAll(' ', '·').replaceAll('\n', '⏎').replaceAll('\t', '⇥')
  .replace(/^bytes:((?:\\x[0-9a-f]{2})+)$/, (_, bytes) => `⟨${bytes.match(/[0-9a-f]{2}/g).join(' ').toUpperCase()}⟩`) ||
  '∅';

export const tokenText = (token, className = '') =>
  element('bdi', {className, textContent: shownToken(token), translate: false});

// Returns a button with a token and its probability, as a bar and a number.
export function likelyRow(token, probability, disabled = true) {
  const bar = element('i', {className: 'meter', ariaHidden: 'true'});
  bar.style.width = `${Math.max(1, 100 * probability)}%`;
  return element('button', {type: 'button', className: 'likely', disabled}, tokenText(token, 'label'),
    element('span', {className: 'track'}, bar),
    element('span', {className: 'amount', textContent: percent(probability)}));
}

// Returns {id, name, probability (null: first token), likely: [{id, name, probability}]} for each
// token of logprobs.
export function readTokens({tokens, token_ids: ids, token_logprobs: values, top_tokens: tops}) {
  return tokens.map((name, i) => ({
    id: ids[i], name, probability: values[i] === null ? null : Math.exp(values[i]),
    likely: tops[i].map(({id, token, logprob}) => ({id, name: token, probability: Math.exp(logprob)})),
  }));
}

// Returns the text to show for each token. A character of several tokens belongs to the first; the
// others get ''.
export function shownTexts(tokens) {
  const texts = [];
  let bytes = [];
  let first = 0;  // first token of an incomplete character
  tokens.forEach(({name}, i) => {
    bytes.push(...bytesOf(name));
    const text = new TextDecoder().decode(Uint8Array.from(bytes));
    texts.push('');
    if (!text.includes('\uFFFD') || i + 1 === tokens.length || bytes.length > 8) {
      texts[first] = text;
      bytes = [];
      first = i + 1;
    }
  });
  return texts;
}

// Returns the name of a token after others: the character that it completes, if it does.
export function nameAfter(names, name) {
  const {text} = wholeTokens([...names, name]).at(-1);
  return text.includes('\uFFFD') ? name : text;
}

// True if a token begins or ends within a character.
export const isCut = (name) => new TextDecoder().decode(bytesOf(name)).includes('\uFFFD');

// Returns tokens for display, {text, first, last: token numbers}. Tokens that cut a character are one.
export function wholeTokens(names) {
  const texts = shownTexts(names.map((name) => ({name})));
  const starts = names.map((_, i) => i).filter((i) => i === 0 || texts[i] !== '');
  return starts.map((first, k) => {
    const last = (starts[k + 1] ?? names.length) - 1;
    return {text: first === last ? names[first] : texts[first], first, last};
  });
}
