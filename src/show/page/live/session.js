// State of the page, kept in the address so that a link restores it.

export const kParts = ['write', 'chat', 'heads', 'layers', 'pair', 'train'];

export const kSettings = [  // sampling options: name, default, minimum, maximum, step. Chats have a length of their own.
  ['temperature', 0.8, 0, 2, 0.05], ['top_k', 0, 0, 1000, 1], ['top_p', 1, 0.01, 1, 0.01],
  ['min_p', 0, 0, 1, 0.01], ['repetition_penalty', 1, 0.5, 2, 0.05], ['max_tokens', 60, 1, 4096, 1], ['answer_tokens', 512, 1, 8192, 1],
  ['seed', 1, 0, 2147483647, 1]];

export const newSession = () => ({
  models: [],
  model: '',
  parts: kParts,           // those that have tabs; the first one opens
  part: 'write',
  step: null,              // of the story of a page of one file, from 1; 0: the page without it; null: there is none
  text: '',
  system: '',              // first message of a chat
  chat_changes: '',        // changes of a chat, in the language of --intervene
  settings: Object.fromEntries(kSettings.map(([name, value]) => [name, value])),
  // By head "5.1", MLP "mlp.3" or layer "layer.3": {kind: 'off' | 'mean' | 'scale' | 'freeze', by}.
  changes: new Map(),
  frozen: '',              // text that supplies the attention patterns of 'freeze' changes
  scored: '',              // text for classing heads; '': the opening text
  classes: new Map(),      // by head: {name, label, score, settled}
  classed: '',             // text of these classes
  clean: '',
  corrupt: '',
  answer: '',              // tokens; '': the most likely
  wrong: '',
  carried: 'head',
  // Last patch of the corrupt text: {part: "0.1", from, to}, token indices or null for all.
  carry: null,
});

export const session = newSession();

const kTexts = ['text', 'system', 'chat_changes', 'frozen', 'scored', 'clean', 'corrupt', 'answer', 'wrong'];

function writeChanges(changes) {
  return [...changes].map(([part, {kind, by}]) =>
    `${part}:${kind}${kind === 'scale' ? by : ''}`).join(',');
}

function readChanges(text) {
  const form = /^((?:mlp\.|layer\.)?\d+(?:\.\d+)?):(off|mean|freeze|scale)([\d.]*)$/;
  return new Map(text.split(',').map((one) => form.exec(one)).filter(Boolean)
    .map(([, part, kind, by]) => [part, {kind, by: Number(by || 1)}]));
}

const writeCarry = (carry) => carry === null ? ''
  : `${carry.part}${carry.from === null ? '' : `:${carry.from}>${carry.to}`}`;

function readCarry(text) {
  const [, part, from, to] = /^((?:resid_post\.|mlp_out\.|attn_out\.|\d+\.)\d+)(?::(\d+)>(\d+))?$/.exec(text) ?? [];
  return part === undefined ? null
    : {part, from: from === undefined ? null : Number(from), to: to === undefined ? null : Number(to)};
}

// Reads the query of an address into a session.
export function readQuery(query, into) {
  const given = new URLSearchParams(query);
  for (const name of kTexts) {
    into[name] = given.get(name) ?? into[name];
  }
  for (const [name, , least, most] of kSettings) {
    const value = Number(given.get(name) ?? NaN);
    into.settings[name] = value >= least && value <= most ? value : into.settings[name];
  }
  into.part = into.parts.includes(given.get('part')) ? given.get('part') : into.parts[0];
  into.model = given.get('model') ?? '';
  into.carried = given.get('carried') ?? 'head';
  into.carry = readCarry(given.get('carry') ?? '');
  into.changes = readChanges(given.get('changes') ?? '');
}

// Returns the query of a step of a story: its state is in the story.
export function stepQuery(step, query) {
  const given = new URLSearchParams({step});
  const lang = new URLSearchParams(query).get('lang');
  return `${given}${lang === null ? '' : `&lang=${lang}`}`;
}

// Returns the query of a session. Other entries of `query` stay.
export function queryOf(from, query = '') {
  if (from.step > 0) {
    return stepQuery(from.step, query);
  }
  const given = new URLSearchParams(query);
  const put = (name, value, usual) =>
    value === usual ? given.delete(name) : given.set(name, value);
  kTexts.forEach((name) => put(name, from[name], ''));
  kSettings.forEach(([name, usual]) => put(name, from.settings[name], usual));
  put('step', from.step, null);
  put('part', from.part, from.parts[0]);
  put('model', from.model, from.models[0]?.id ?? '');
  put('carried', from.carried, 'head');
  put('carry', writeCarry(from.carry), '');
  put('changes', writeChanges(from.changes), '');
  return given.toString();
}

export const readSession = () => readQuery(location.search, session);

// Writes the address. An opened part or step becomes a history entry, to which Back returns.
export function writeSession() {
  const query = queryOf(session, location.search);
  const address = `${location.pathname}${query ? `?${query}` : ''}${location.hash}`;
  const {part, step} = session;
  const opened = (history.state?.part ?? part) !== part || (history.state?.step ?? step) !== step;
  try {
    history[opened ? 'pushState' : 'replaceState']({part, step}, '', address);
  } catch {
    // Browsers refuse frequent changes. The next change writes the whole address.
  }
}

// Functions to call on changes: 'text', 'model', 'changes', 'chat', 'classes', 'scored', 'pair', 'part', or
// 'selection' (of the attention views, after '#').
const listeners = [];

export function listen(names, call) {
  listeners.push({names, call});
}

export function changed(name) {
  writeSession();
  listeners.filter(({names}) => names.includes(name)).forEach(({call}) => call());
}
