// What the heads of a model do, found in the background while the reader does other things.
import {byId} from '/views/dom.js';
import {askLong, latest} from './server.js';
import {changed, listen, session} from './session.js';
import {language, say} from './words.js';

// Parts that others need not wait for long; a text is cut into pieces of so many tokens.
const kPiece = 128;
const kResamples = 200;
const kShown = 60;  // characters of the text that classes come from

let opening = '';  // the text that heads are classed on as long as the reader chooses none

// {"1.0": {name: "previous_token", label: "바로 앞 토큰", score: 0.8, settled: true}}, of an answer of /api/scores in a
// language. What is not settled rests on too little text to be told from chance.
export const classesOf = ({heads, labels}, language) => new Map(heads.map(
  ({head, verdict, verdict_score: score, settled}) =>
    [head, {name: verdict, label: labels[language][verdict], score, settled}]));

// What names something that a head does: neither that it looks everywhere, nor that nothing stands out.
export const isPattern = (name) => !['diffuse', 'mixed', 'other'].includes(name);

// Each class with its label and heads, those with a pattern first, then by number.
export function headsByClass(classes) {
  const heads = new Map();
  for (const [head, {name, label}] of classes) {
    heads.set(name, {name, label, heads: [...heads.get(name)?.heads ?? [], head]});
  }
  return [...heads.values()].sort((a, b) => isPattern(b.name) - isPattern(a.name) || b.heads.length - a.heads.length);
}

// The beginning of a text, on one line.
export function shortened(text) {
  const characters = [...text.replace(/\s+/g, ' ')];
  return characters.length <= kShown ? characters.join('') : `${characters.slice(0, kShown).join('')} …`;
}

export const scoredText = () => session.scored || opening;

async function score(signal) {
  const bar = byId('scoring');
  bar.value = 0;
  bar.hidden = false;
  byId('scoring-state').textContent = say('finding');
  const text = scoredText();
  const block = session.models.find(({id}) => id === session.model)?.max_model_len ?? kPiece;
  const answer = await askLong('/api/scores', {model: session.model, text, resamples: kResamples,
    sequence_tokens: Math.min(kPiece, block)}, signal, (share) => { bar.value = share; });
  bar.hidden = true;
  session.classes = classesOf(answer, language);
  session.classed = text;
  byId('scoring-state').textContent = `${say('found')} ${headsByClass(session.classes)
    .map(({label, heads}) => `${heads.length} ${label}`).join(', ')}`;
  changed('classes');
}

// What stands under maps of one text may come from another.
function showSource() {
  byId('classed').hidden = session.classes.size === 0 || session.classed === session.text;
  byId('classed-on').textContent = say('classed_on').replace('{text}', shortened(session.classed));
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
