// Opens the page: models, text, parts, and the form for the key.
import {byId, element, option} from '../dom.js';
import {release} from './board.js';
import {chatCommand, openChat} from './chat.js';
import {classesCommand, openClasses} from './classes.js';
import {headsCommand, openHeads} from './heads.js';
import {layersCommand, openLayers} from './layers.js';
import {fitting, kPair, kText, openingFor} from './opening.js';
import {openPair, pairCommand} from './pair.js';
import {openPictures} from './picture.js';
import {openRuns} from './runs.js';
import {ask, clearWarnings, page} from './server.js';
import {changed, kParts, kSettings, newSession, readSession, readQuery, session} from './session.js';
import {openSettings, showSettings} from './settings.js';
import {fillTexts, language, say} from '../words.js';
import {openWriting, writeCommand} from './write.js';

const kCommands = {write: writeCommand, chat: chatCommand, heads: headsCommand, layers: layersCommand, pair: pairCommand};

const kTrainedOpening = 200;  // characters

function showPart() {
  for (const part of kParts) {
    byId(`part-${part}`).hidden = part !== session.part;
    const tab = byId(`open-${part}`);
    tab.ariaSelected = String(part === session.part);
    tab.tabIndex = part === session.part ? 0 : -1;
    tab.hidden = !session.parts.includes(part);
  }
  byId('text-box').hidden = ['chat', 'pair', 'train'].includes(session.part);
  showSettings(session.part);
  byId('copy').hidden = !(session.part in kCommands);
}

export function openPart(part) {
  session.part = part;
  showPart();
  changed('part');
}

function listenToParts() {
  addEventListener('popstate', ({state}) => {  // texts and switches stay
    if (state?.part !== undefined && state.part !== session.part) {
      openPart(state.part);
    }
  });
  kParts.forEach((part) => byId(`open-${part}`).addEventListener('click', () => openPart(part)));
  byId('parts').addEventListener('keydown', ({key}) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[key];
    if (step) {
      const tabs = kParts.filter((part) => session.parts.includes(part));
      openPart(tabs[(tabs.indexOf(session.part) + step + tabs.length) % tabs.length]);
      byId(`open-${session.part}`).focus();
    }
  });
}

function useText(text) {
  session.text = text;
  byId('text').value = text;
  changed('text');
}

// Shows the state in the query of an address.
export function openState(query) {
  const wanted = newSession();
  readQuery(query, Object.assign(wanted, {parts: session.parts, text: page.text || kText}));
  const fill = (id, value, event) => {
    byId(id).value = value;
    byId(id).dispatchEvent(new Event(event));
  };
  const texts = wanted.part === 'pair' ? ['text', 'system', 'clean', 'corrupt', 'answer', 'wrong'] : ['text', 'system'];
  texts.forEach((name) => fill(name, wanted[name], 'input'));
  kSettings.forEach(([name]) => fill(name, wanted.settings[name], 'input'));
  fill('carried', wanted.carried, 'change');
  fill('chat-changes', wanted.chat_changes, 'change');
  Object.assign(session, {changes: wanted.changes, frozen: wanted.frozen, carry: wanted.carry});
  changed('changes');
  openPart(wanted.part);
}

function listenToText() {
  byId('text').value = session.text;
  byId('text').addEventListener('input', () => {
    session.text = byId('text').value;
    clearWarnings();
    changed('text');
  });
}

function listenToCopies() {
  const copy = async (button, text) => {
    await navigator.clipboard.writeText(text).catch(() => prompt('', text));
    button.textContent = say('copied');
    setTimeout(() => { button.textContent = say(button.dataset.say); }, 1200);
  };
  byId('copy').addEventListener('click', () => {
    const command = kCommands[session.part]();
    if (command !== null) {
      copy(byId('copy'), command);
    }
  });
  byId('copy-classes').addEventListener('click', () => copy(byId('copy-classes'), classesCommand()));
  byId('link').addEventListener('click', () => copy(byId('link'), location.href));
}

// Shows the form for the key until the server accepts it.
function askForKey() {
  const form = byId('login');
  form.hidden = false;
  byId('key').focus();
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      ask('/api/login', {key: byId('key').value}).then(() => {
        form.hidden = true;
        resolve();
      }, () => { byId('login-problem').textContent = say('wrong_key'); });
    };
  });
}

function listModels(models) {
  session.models = models;
  if (!models.some(({id}) => id === session.model)) {
    session.model = models[0].id;
  }
  byId('model').replaceChildren(...models.map(({id}) => option(id, id, id === session.model)));
  byId('model').parentNode.hidden = false;
}

function chooseModel(model) {
  session.model = model;
  session.changes.clear();
  session.carry = null;
  changed('model');
}

async function openModels() {
  listModels((await ask('/v1/models')).data);
  await fitOpening();
  openClasses();
}

// Opens a model that was trained on `text` in the page of one file. The first one opens `parts`.
export async function openTrained(model, parts, text) {
  const others = session.models.filter(({id}) => id !== model);
  session.model = model;  // whose worker answers
  const {data} = await ask('/v1/models');
  listModels([...others, ...data]);
  if (others.length === 0) {
    session.parts = parts;
    showPart();
    const {tokens} = await ask('/tokenize', {model, content: text.slice(0, kTrainedOpening)});
    useText(fitting(text.slice(0, kTrainedOpening), tokens.length, data[0].max_model_len / 2));
    openClasses();
  }
  chooseModel(model);
}

// Replaces untouched opening texts by ones that fit into the model's block.
async function fitOpening() {
  const opening = await openingFor(session.models.find(({id}) => id === session.model));
  for (const [name, usual] of Object.entries({text: kText, ...kPair})) {
    if (session[name] === usual) {
      session[name] = opening[name];
      byId(name).value = opening[name];
    }
  }
}

// Makes a link open the current state of the page in the other language.
export function linkLanguage(link) {
  const update = () => {
    const other = new URL(location.href);
    other.searchParams.set('lang', language === 'ko' ? 'en' : 'ko');
    link.href = other.href;
  };
  update();
  ['pointerdown', 'focus', 'click'].forEach((event) => link.addEventListener(event, update));
}

async function open() {
  document.documentElement.lang = language;
  fillTexts(document);
  linkLanguage(byId('language'));
  readSession();
  session.text = session.text || page.text || kText;
  if (session.clean === '' && session.corrupt === '') {
    Object.assign(session, kPair);
  }
  page.login = askForKey;
  page.showWarnings = (warnings) => {
    byId('warnings').textContent = warnings.join(' · ');
    byId('warnings').hidden = warnings.length === 0;
  };
  listenToText();
  listenToParts();
  listenToCopies();
  openSettings();
  openWriting(useText, release);
  openChat();
  openHeads();
  openLayers();
  openPair();
  openRuns();
  openPictures();
  showPart();
  document.documentElement.dataset.painted = Math.round(performance.now());
  byId('model').addEventListener('change', () => chooseModel(byId('model').value));
  if (page.hasModel) {
    await openModels();
  }
  changed('part');
  document.documentElement.dataset.ready = Math.round(performance.now());
}

export function openLivePage() {
  open().catch((error) => {
    byId('parts').after(element('p', {className: 'problem', role: 'alert',
                                      textContent: `${say('failed')} ${error.message}`}));
  });
}
