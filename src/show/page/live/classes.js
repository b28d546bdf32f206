// Classes of a model's heads, computed in the background.
import {byId} from '../dom.js';
import {commandOf} from './changes.js';
import {askLong, latest} from './server.js';
import {changed, listen, session} from './session.js';
import {language, say} from '../words.js';

// Tokens per sequence of a text. Short sequences keep the server's slices short.
const kPiece = 128;
const kResamples = 200;
const kShown = 60;  // characters shown of the text

let opening = '';  // text of the classes unless the reader chooses one

// Returns {"1.0": {name: "previous_token", label: "바로 앞 토큰", score: 0.8, settled: true}} for an
// answer of /api/scores in a language. `settled` false: the text is too short to exclude chance.
export const classesOf = ({heads, labels}, language) => new Map(heads.map(
  ({head, verdict, verdict_score: score, settled}) =>
    [head, {name: verdict, label: labels[language][verdict], score, settled}]));

// Whether a class is a pattern, unlike uniform attention ('diffuse') and unclear cases.
export const isPattern = (name) => !['diffuse', 'mixed', 'other'].includes(name);

// Returns the classes with label and heads: patterns first, then by number of heads.
export function headsByClass(classes) {
  const heads = new Map();
  for (const [head, {name, label}] of classes) {
    heads.set(name, {name, label, heads: [...heads.get(name)?.heads ?? [], head]});
  }
  return [...heads.values()].sort((a, b) => isPattern(b.name) - isPattern(a.name) || b.heads.length - a.heads.length);
}

// Returns the beginning of a text, on one line.
export function shortened(text) {
  const characters = [...text.replace(/\s+/g, ' ')];
  return characters.length <= kShown ? characters.join('') : `${characters.slice(0, kShown).join('')} …`;
}

export const scoredText = () => session.scored || opening;

// The classes are those of the model without switches.
export const classesCommand = () => commandOf('heads', {text: scoredText(), intervene: ''});

async function score(signal) {
  const bar = byId('scoring');
  bar.value = 0;
  bar.hidden = false;
  byId('scoring-state').textContent = say('finding');
  const text = scoredText();
  const block = session.models.find(({id}) => id === session.model)?.max_model_len ?? kPiece;
  const answer = await askLong('/api/scores', {model: session.model, text, resamples: kResamples,
    sequence_tokens: Math.min(kPiece, block)}, signal, (share) => { bar.value = share; },
    {warns: session.scored !== '' || text === session.text});  // the opening text may have gone meanwhile
  bar.hidden = true;
  session.classes = classesOf(answer, language);
  session.classed = text;
  byId('scoring-state').textContent = `${say('found')} ${headsByClass(session.classes)
    .map(({label, heads}) => `${heads.length} ${label}`).join(', ')}`;
  changed('classes');
}

// Names the text of the classes if the views show another text.
function showSource() {
  byId('classed').hidden = session.classes.size === 0 || session.classed === session.text;
  byId('classed-on').textContent = say('classed_on', {text: shortened(session.classed)});
}

export function openClasses() {
  opening = session.text;
  const box = byId('scored');
  box.value = scoredText();
  const now = latest(600, score, (message) => {
    if (message !== '') {
      byId('scoring').hidden = true;
      byId('scoring-state').textContent = message;
    }
  });
  const choose = () => {
    session.scored = box.value === opening ? '' : box.value;
    changed('scored');
    now();
  };
  box.addEventListener('input', choose);
  byId('class-this').addEventListener('click', () => {
    box.value = session.text;
    choose();
  });
  listen(['text', 'classes'], showSource);
  listen(['model'], () => {
    session.classes = new Map();
    changed('classes');
    now();
  });
  now();
}
