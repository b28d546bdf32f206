// Switches in the language of --intervene, and as a shell command.
import {kSettings, session} from './session.js';

// Quotes a text with a mark that it does not contain; if it has both, doubles those inside.
export const quoted = (text) => text.includes('"') && !text.includes("'") ? `'${text}'`
  : `"${text.replaceAll('"', '""')}"`;

// Groups parts with the same change: each change costs the server a forward pass.
export function interventionOf({changes, text, frozen}) {
  const groups = new Map();
  for (const [part, {kind, by}] of changes) {
    const end = {scale: ` ${by}`, mean: ` from ${quoted(text)}`, freeze: ` from ${quoted(frozen)}`}[kind] ?? '';
    const target = kind === 'freeze' ? `pattern.${part}` : part;
    const group = groups.get(kind + end) ?? {kind, end, targets: []};
    group.targets.push(target);
    groups.set(kind + end, group);
  }
  return [...groups.values()].map(({kind, targets, end}) => `${kind} ${targets.join(', ')}${end}`).join('; ');
}

export const intervention = () => interventionOf(session);

// Returns the change that carries a part from the clean text. It follows the switches.
export function carriedChange({part, from, to}, clean) {
  const at = from === null || from === to ? '' : ` at ${from}`;
  return `freeze ${part} from ${quoted(clean)}${at}${to === null ? '' : ` @${to}`}`;
}

// Returns where the factor of the first `add` in a text of changes is, {begin, end, factor}; null: there is none.
export function steeringOf(changes) {
  const plain = changes.replace(/"[^"]*"|'[^']*'/g, (text) => '_'.repeat(text.length));  // texts hold any mark
  for (const {0: change, index} of plain.matchAll(/[^;\n]+/g)) {
    if (/^\s*add\s/.test(change)) {
      const [, body, factor] = /^(.*?)(?:\s*\*\s*(-?[\d.]+))?\s*(?:\s@\S+\s*)?$/.exec(change);
      const begin = index + body.length;
      const end = factor === undefined ? begin : index + change.indexOf(factor, body.length) + factor.length;
      return {begin, end, factor: Number(factor ?? 1)};
    }
  }
  return null;
}

// Returns the changes with another factor of that `add`.
export function steeredBy(changes, factor) {
  const {begin, end} = steeringOf(changes);
  return `${changes.slice(0, begin)}*${factor}${changes.slice(end)}`;
}

const shell = (text) => /^[\w./=:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

// Returns the options of generation that differ from the page's usual ones. Commands have another
// temperature and seed unless these are given.
export function samplingOptions(settings, most) {
  const given = kSettings.filter(([name, usual]) => !['max_tokens', 'answer_tokens'].includes(name) &&
    (['seed', 'temperature'].includes(name) || settings[name] !== usual)).map(([name]) => [name, settings[name]]);
  return {max_new_tokens: most, ...Object.fromEntries(given)};
}

// `options` by name; empty ones are omitted.
export function commandOf(name, options, of = session) {
  const model = of.models.find(({id}) => id === of.model)?.root ?? of.model;
  const given = Object.entries({intervene: interventionOf(of), ...options})
    .filter(([, value]) => value !== '' && value !== null && value !== undefined)
    .map(([option, value]) => value === true ? `--${option}` : `--${option} ${shell(String(value))}`);
  return ['headlight', name, shell(model), ...given].join(' ');
}
