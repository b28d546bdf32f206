// The text with the loss of each token, and its change by switches.
import {byId, element} from '/views/dom.js';
import {listenForTip} from './reach.js';
import {shownToken} from './tokens.js';

const kMost = 6;  // nats for the full colour; half of it for changes

export function showSurprise({tokens, before, after}, isChanged) {
  byId('surprise').replaceChildren(...tokens.map(({token}, i) => {
    const cost = before.logprobs[i] === null ? null : -before.logprobs[i];
    const changed = cost === null ? null : -after.logprobs[i];
    const amount = cost === null ? 0 : isChanged ? (changed - cost) / (kMost / 2) : cost / kMost;
    const node = element('span', {className: isChanged ? (amount > 0 ? 'worse' : 'better') : 'cost',
                                  textContent: token, tabIndex: i === 0 ? 0 : -1});
    node.style.setProperty('--amount', `${(70 * Math.min(1, Math.abs(amount))).toFixed(0)}%`);
    const text = cost === null ? '–' : isChanged ? `${cost.toFixed(2)} → ${changed.toFixed(2)}` : cost.toFixed(2);
    listenForTip(node, () => [`${text} nats`, shownToken(token)]);
    return node;
  }));
}
