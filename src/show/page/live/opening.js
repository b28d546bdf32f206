// Opening texts of the page, cut to the model's context length.
import {ask} from './server.js';
import {language} from '../words.js';

export const kText = 'One day, Nora lost her red kite. She asked Ben, "Have you seen my red kite?"';
export const kKoreanText = '어느 날 아침 지안은 노란 연을 잃어버렸어요. "민지야, 내 노란 연 못 봤어?" 지안이 물었어요.';
export const kPair = {clean: 'Mina lost her red key. She asked Ben, "Have you seen my red', answer: ' key',
                      corrupt: 'Mina lost her red hat. She asked Ben, "Have you seen my red', wrong: ' hat'};
export const kKoreanPair = {clean: '어느 날 아침 지안은 노란 연을 잃어버렸어요. "민지야, 내 노란', answer: ' 연',
                            corrupt: '어느 날 아침 지안은 노란 우산을 잃어버렸어요. "민지야, 내 노란', wrong: ' 우산'};

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

// Returns the opening texts and pair for `model`. They leave half of its block free. An answer of several
// tokens becomes '', so that the server chooses it.
export async function openingFor({id, max_model_len: block}) {
  const tokensOf = async (content) => (await ask('/tokenize', {model: id, content})).tokens;
  const count = async (content) => (await tokensOf(content)).length;
  const one = async (content) => await count(content) === 1 ? content : '';
  const isKorean = language === 'ko' && readsWell(kKoreanText, await tokensOf(kKoreanText).catch(() => []));
  const text = isKorean ? kKoreanText : kText;
  const pair = isKorean ? kKoreanPair : kPair;
  return {...pair, text: fitting(text, await count(text), block / 2),
          answer: await one(pair.answer), wrong: await one(pair.wrong)};
}
