// Patches one part of the clean text into the corrupt text, and shows the next token.
import {byId, element} from '../dom.js';
import {carriedChange, intervention} from './changes.js';
import {ask} from './server.js';
import {session} from './session.js';
import {likelyRow, percent, shownToken, tokenText} from './tokens.js';
import {say} from '../words.js';

// Returns the recovered share of the logit difference between both texts.
export const recoveredShare = (clean, corrupt, patched) =>
  clean === corrupt ? null : (patched - corrupt) / (clean - corrupt);

const differenceOf = ([answer, wrong]) => answer - wrong;

const partName = (part) => /^\d/.test(part) ? `${say('one_head')} ${part}` : part.replace(/^(\w+)\.(\d+)$/,
  (_, point, layer) => say(`short_${point}`, {layer}));

// Returns {part, from, to} in words, with the tokens of both texts.
export function carryName({part, from, to}, clean, corrupt) {
  const token = (tokens, place) => `${place} ${shownToken(tokens[place] ?? '')}`;
  return from === null ? partName(part) : `${partName(part)}: ${token(clean, from)} → ${token(corrupt, to)}`;
}

function answerTable(names, columns) {
  return element('table', {className: 'answers'},
    element('thead', {}, element('tr', {}, element('td'), ...columns.map(({title}) =>
      element('th', {scope: 'col', textContent: title})))),
    element('tbody', {}, ...names.map((name, i) => element('tr', {},
      element('th', {scope: 'row'}, tokenText(name)),
      ...columns.map(({asked}) => element('td', {textContent: percent(Math.exp(asked[i]))}))))));
}

const nextList = (title, next) => element('div', {}, element('h3', {textContent: title}),
  ...next.map(({token, probability}) => likelyRow(token, probability)));

// Shows the patch `session.carry`: recovered share, probabilities and next tokens.
// `task`: {answer, wrong}, tokens from the server. `clean`, `corrupt`: token texts of both texts.
export async function showCarry(task, clean, corrupt, signal) {
  const {carry} = session;
  const place = byId('carried-result');
  const title = element('h2', {textContent: carryName(carry, clean, corrupt)});
  place.replaceChildren(title, element('p', {className: 'muted', textContent: say('computing')}));
  const question = {model: session.model, answer: task.answer.id, wrong: task.wrong.id, always: intervention(), top_k: 6};
  const [whole, told] = await Promise.all([
    ask('/api/predict', {...question, text: session.clean}, signal),
    ask('/api/predict', {...question, text: session.corrupt, intervene: carriedChange(carry, session.clean)}, signal)]);
  const share = recoveredShare(differenceOf(whole.before.asked), differenceOf(told.before.asked),
                               differenceOf(told.after.asked));
  place.replaceChildren(title,
    element('p', {className: 'recovered'}, element('b', {textContent: share === null ? '–' : share.toFixed(2)}),
            ` ${say('recovered')}`),
    answerTable([task.answer.token, task.wrong.token], [{title: say('of_clean'), asked: whole.before.asked},
      {title: say('of_corrupt'), asked: told.before.asked}, {title: say('of_patched'), asked: told.after.asked}]),
    element('div', {className: 'nexts'}, nextList(say('next_before'), told.before.next),
            nextList(say('next_after'), told.after.next)));
}
