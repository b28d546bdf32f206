// Completion of next tokens that end within a character.
import {ask} from './server.js';
import {session} from './session.js';
import {isCut, wholeTokens} from './tokens.js';

// Returns the texts of tokens that end within a character, with the rest of the character, which the
// model writes: a Map from each of `tokens`, {before: ids of the text before it, id, token}, to its
// text. It completes the first `most` such tokens. Tokens without an entry have no whole character.
export async function completedTokens(tokens, most, intervene, signal) {
  const texts = new Map();
  const asked = new Map();  // by prompt: equal tokens at one place share an answer
  for (const one of tokens.filter(({token}) => isCut(token))) {
    const prompt = [...one.before, one.id];
    const key = prompt.join();
    if (asked.has(key) || asked.size < most) {
      asked.set(key, {prompt, sharers: [...asked.get(key)?.sharers ?? [], one]});
    }
  }
  const places = [...asked.values()];
  if (places.length === 0) {
    return texts;
  }
  const {choices} = await ask('/v1/completions', {
    model: session.model, prompt: places.map(({prompt}) => prompt), max_tokens: 3, temperature: 0, logprobs: 1,
    intervene}, signal).catch((error) => {
    if (signal.aborted) {
      throw error;
    }
    return {choices: []};  // without room for more tokens, the bytes stay
  });
  for (const {index, logprobs} of choices) {
    const {sharers} = places[index];
    const [{text}] = wholeTokens([sharers[0].token, ...logprobs.tokens]);
    if (!isCut(text)) {
      sharers.forEach((one) => texts.set(one, text));
    }
  }
  return texts;
}
