// Opening texts of the page, cut to the model's context length.
import {ask} from './server.js';
import {language} from './words.js';

export const kText = 'One day, Nora lost her red kite. She asked Ben, "Have you seen my red kite?"';
export const kKoreanText = '어느 날 노라가 빨간 연을 잃어버렸어요. 노라가 벤에게 물었어요. "내 빨간 연 봤니?"';
export const kPair = {clean: 'Mina lost her red key. She asked Ben, "Have you seen my red', answer: ' key',
                      corrupt: 'Mina lost her red hat. She asked Ben, "Have you seen my red', wrong: ' hat'};

// Returns the whole words that fit into `room` tokens. The text has `tokens` tokens.
export function fitting(text, tokens, room) {
  if (tokens <= room) {
    return text;
  }
  const cut = text.slice(0, Math.floor(text.length * room / tokens));
  return cut.slice(0, Math.max(cut.lastIndexOf(' '), 1));
}

// Whether a model that cuts `text` into `tokens` suits the text. A model without Hangul cuts Korean
// into more tokens than characters, or into the same unknown token again and again.
export function readsWell(text, tokens) {
  return tokens.length <= text.length && new Set(tokens).size > text.length / 4;
}

// Returns the opening texts for `model`. They leave half of its block free. An answer of several
// tokens becomes '', so that the server chooses it.
export async function openingFor({id, max_model_len: block}) {
  const tokensOf = async (content) => (await ask('/tokenize', {model: id, content})).tokens;
  const count = async (content) => (await tokensOf(content)).length;
  const one = async (content) => await count(content) === 1 ? content : '';
  const isKorean = language === 'ko' && readsWell(kKoreanText, await tokensOf(kKoreanText).catch(() => []));
  const text = isKorean ? kKoreanText : kText;
  return {text: fitting(text, await count(text), block / 2),
          answer: await one(kPair.answer), wrong: await one(kPair.wrong)};
}
