// Tokens as the server names them, and what is shown of them.

export const percent = (probability) => probability >= 0.1 ? `${(100 * probability).toFixed(0)} %`
  : probability >= 0.001 ? `${(100 * probability).toFixed(1)} %` : '< 0.1 %';

// By the names that such tokens mostly have, of Llama, Mistral and Gemma, too.
export const isSpecial = (name) =>
  /^(<\|.*\|>|<\/?s>|<(bos|eos|pad|unk|(start|end)_of_turn)>|\[\/?INST\])$/.test(name);

// What a token's name stands for: text, or "bytes:\xe2\x80" where it is no whole one.
export function bytesOf(name) {
  if (/^bytes:(\\x[0-9a-f]{2})+$/.test(name)) {
    return Uint8Array.from(name.slice('bytes:'.length).match(/[0-9a-f]{2}/g), (digits) => parseInt(digits, 16));
  }
  return new TextEncoder().encode(name);
}

// On one line, with blanks and bytes that can be seen.
export const shownToken = (token) => token.replaceAll(' ', '·').replaceAll('\n', '⏎').replaceAll('\t', '⇥')
  .replace(/^bytes:((?:\\x[0-9a-f]{2})+)$/, (_, bytes) => `⟨${bytes.match(/[0-9a-f]{2}/g).join(' ').toUpperCase()}⟩`) ||
  '∅';

// {id, name, probability (null: of the first), likely: [{id, name, probability}]} of each token of a piece
// of an answer.
export function readTokens({tokens, token_ids: ids, token_logprobs: values, top_tokens: tops}) {
  return tokens.map((name, i) => ({
    id: ids[i], name, probability: values[i] === null ? null : Math.exp(values[i]),
    likely: tops[i].map(({id, token, logprob}) => ({id, name: token, probability: Math.exp(logprob)})),
  }));
}

// What stands for each token where a text is shown: a character of several tokens at the first of them,
// and nothing at the others.
export function shownTexts(tokens) {
  const texts = [];
  let bytes = [];
  let first = 0;  // token of the character that is not whole
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
