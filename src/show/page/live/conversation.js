// What a conversation keeps: over a reload of the page, and when it is longer than the model's context.
import {ask} from './server.js';
import {session} from './session.js';

const kKept = 'headlight-chat';
const kMostBytes = 4;  // of a character, and so tokens at most

// Returns the messages kept for the model, or none. Browsers may forbid to keep anything.
export function keptMessages() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(kKept));
    return kept?.model === session.model ? kept.messages : [];
  } catch {
    return [];
  }
}

export function keepMessages(messages) {
  try {
    sessionStorage.setItem(kKept, JSON.stringify({model: session.model, messages}));
  } catch {
    // without storage, or when it is full
  }
}

// Returns the messages after the first turn: up to the next question.
function withoutFirstTurn(messages) {
  const next = messages.findIndex(({role}, i) => i > 0 && role === 'user');
  return next < 0 ? null : messages.slice(next);
}

// Returns the messages that fit into the context with room for an answer of `most` tokens, or for a quarter of the
// context: whole turns are left out, the oldest first, as in the terminal. The last turn always stays.
export async function fittingMessages(messages, system, most, signal) {
  const context = session.models.find(({id}) => id === session.model)?.max_model_len ?? Infinity;
  const room = Math.min(most, Math.max(1, Math.floor(context / 4)));
  const size = (list) => list.reduce((sum, {content}) => sum + kMostBytes * content.length + 16, system.length * kMostBytes + 64);
  let rest = messages;
  while (size(rest) + room > context) {  // else it fits for certain
    const {input_tokens: count} = await ask('/v1/messages/count_tokens',
      {model: session.model, messages: rest, max_tokens: 1, ...(system === '' ? {} : {system})}, signal);
    const shorter = withoutFirstTurn(rest);
    if (count + room <= context || shorter === null) {
      break;
    }
    rest = shorter;
  }
  return rest;
}
