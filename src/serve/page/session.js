// What the reader works on, kept in the address so that a link leads back to it.

export const kParts = ['write', 'heads', 'layers', 'pair', 'train'];

export const session = {
  models: [],
  model: '',
  part: 'write',
  text: '',
  // Of heads "5.1", MLPs "mlp.3" and layers "layer.3": {kind: 'off' | 'mean' | 'scale' | 'freeze', by}.
  changes: new Map(),
  frozen: '',              // the text whose patterns are kept
  classes: new Map(),      // of heads: [name, score]
  clean: '',
  corrupt: '',
  answer: '',              // tokens; '': the likeliest
  wrong: '',
  carried: 'head',
};

const kTexts = ['text', 'frozen', 'clean', 'corrupt', 'answer', 'wrong'];

function writeChanges() {
  return [...session.changes].map(([part, {kind, by}]) =>
    `${part}:${kind}${kind === 'scale' ? by : ''}`).join(',');
}

function readChanges(text) {
  const form = /^((?:mlp\.|layer\.)?\d+(?:\.\d+)?):(off|mean|freeze|scale)([\d.]*)$/;
  return new Map(text.split(',').map((one) => form.exec(one)).filter(Boolean)
    .map(([, part, kind, by]) => [part, {kind, by: Number(by || 1)}]));
}

export function readAddress() {
  const given = new URLSearchParams(location.search);
  for (const name of kTexts) {
    session[name] = given.get(name) ?? session[name];
  }
  session.part = kParts.includes(given.get('part')) ? given.get('part') : 'write';
  session.model = given.get('model') ?? '';
  session.carried = given.get('carried') ?? 'head';
  session.changes = readChanges(given.get('changes') ?? '');
}

export function writeAddress() {
  const given = new URLSearchParams(location.search);
  const put = (name, value, usual) =>
    value === usual ? given.delete(name) : given.set(name, value);
  kTexts.forEach((name) => put(name, session[name], ''));
  put('part', session.part, 'write');
  put('model', session.model, session.models[0]?.id ?? '');
  put('carried', session.carried, 'head');
  put('changes', writeChanges(), '');
  const query = given.toString();
  history.replaceState(null, '', `${location.pathname}${query ? `?${query}` : ''}${location.hash}`);
}

// Who wants to know that something has changed: 'text', 'model', 'changes', 'classes' or 'part'.
const listeners = [];

export function listen(names, call) {
  listeners.push({names, call});
}

export function changed(name) {
  writeAddress();
  listeners.filter(({names}) => names.includes(name)).forEach(({call}) => call());
}
