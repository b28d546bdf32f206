// A conversation with a model that has a chat template.
import {byId, element} from '../dom.js';
import {commandOf, intervention, samplingOptions, steeredBy, steeringOf} from './changes.js';
import {fittingMessages, keepMessages, keptMessages} from './conversation.js';
import {follow} from './server.js';
import {changed, listen, session} from './session.js';
import {refusesNumbers} from './settings.js';
import {say} from '../words.js';

let messages = [];  // {role, content}, without the system message
let controller = null;
let retries = 0;    // each answer to the same question has another seed

const isAnswer = (message) => message?.role === 'assistant';

const switches = () => [intervention(), session.chat_changes].filter((text) => text !== '').join('; ');

// Settings as members of a request.
function settings() {
  const {answer_tokens: most, seed, ...rest} = session.settings;
  return {...rest, seed: seed + retries, max_tokens: most};
}

function bubble({role, content}) {
  return element('div', {className: `message ${role}`},
    element('span', {className: 'role', textContent: say(role)}),
    element('p', {className: 'content', textContent: content}));
}

function showMessages() {
  byId('conversation').replaceChildren(...messages.map(bubble));
  keepMessages(messages);
  showButtons();
}

function showButtons() {
  const model = session.models.find(({id}) => id === session.model);
  const usable = model?.chat !== false;
  byId('send').hidden = controller !== null;
  byId('chat-stop').hidden = controller === null;
  byId('send').disabled = byId('question').disabled = !usable;
  byId('chat-retry').disabled = byId('chat-undo').disabled = controller !== null || messages.length === 0;
  byId('chat-clear').disabled = messages.length === 0;
  byId('no-chat').hidden = usable;
  showSteering(model?.directions ?? []);
  byId('chat-switches').textContent = switches() === '' ? '' : `${say('writes_with')} ${switches()}`;
}

// Shows the slider of the first direction that is added, and offers those that the server has.
function showSteering(directions) {
  const steering = steeringOf(session.chat_changes);
  byId('steering').parentNode.hidden = steering === null;
  byId('steering').value = steering?.factor ?? 1;
  byId('steering-value').textContent = steering === null ? '' : `×${steering.factor}`;
  byId('directions').replaceChildren(...directions.map((name) => element('option', {
    value: `add ${name.slice(name.lastIndexOf(':') + 1)} ${name}*1`})));
}

function steer() {
  session.chat_changes = steeredBy(session.chat_changes, Number(byId('steering').value));
  byId('chat-changes').value = session.chat_changes;
  byId('steering-value').textContent = `×${byId('steering').value}`;
}

function showSpeed(tokens, started, first, reason) {
  const seconds = (performance.now() - (first ?? started)) / 1000;
  byId('chat-speed').textContent = tokens === 0 ? '' : `${tokens} ${say('token_count')}` +
    (tokens > 1 && seconds > 0 ? `, ${((tokens - 1) / seconds).toFixed(1)} ${say('speed')}` : '') +
    (reason === 'length' ? `, ${say('cut')}` : '');
}

// Lets the model answer the last question, or continue its last answer.
async function answer() {
  controller?.abort();
  const mine = new AbortController();
  controller = mine;
  byId('chat-problem').textContent = '';
  const continues = isAnswer(messages.at(-1));
  const system = session.system === '' ? [] : [{role: 'system', content: session.system}];
  const told = [...messages];
  if (!continues) {
    messages.push({role: 'assistant', content: ''});
  }
  showMessages();
  const place = byId('conversation').lastChild.querySelector('.content');
  const mineAnswer = messages.at(-1);
  const started = performance.now();
  let [tokens, first, reason] = [0, null, null];
  try {
    const fitting = await fittingMessages(told, session.system, session.settings.answer_tokens, mine.signal);
    const leftOut = told.length - fitting.length;
    byId('chat-left-out').textContent = leftOut === 0 ? '' : say('left_out', {count: leftOut});
    await follow('/v1/chat/completions', {model: session.model, messages: [...system, ...fitting], stream: true,
                 intervene: switches(), continue_final_message: continues, ...settings()}, mine.signal, ({choices: [choice]}) => {
      reason = choice?.finish_reason ?? reason;
      if (choice?.delta?.content) {
        first ??= performance.now();
        ++tokens;
        mineAnswer.content += choice.delta.content;
        place.textContent = mineAnswer.content;
        place.scrollIntoView({block: 'nearest'});
        showSpeed(tokens, started, first, reason);
      }
    });
    showSpeed(tokens, started, first, reason);
  } catch (error) {
    if (!mine.signal.aborted) {
      byId('chat-problem').textContent = `${say('failed')} ${error.message}`;
    }
  }
  if (controller === mine) {
    stop();
  }
}

// Keeps the part of the answer that has been written.
function stop() {
  controller?.abort();
  controller = null;
  if (isAnswer(messages.at(-1)) && messages.at(-1).content === '') {
    messages.pop();
  }
  showMessages();
}

function send() {
  const question = byId('question').value;
  if (question.trim() === '' || controller !== null || refusesNumbers('chat-problem')) {
    return;
  }
  byId('question').value = '';
  retries = 0;
  messages.push({role: 'user', content: question});
  answer();
}

function retry() {
  if (refusesNumbers('chat-problem')) {
    return;
  }
  ++retries;
  if (isAnswer(messages.at(-1))) {
    messages.pop();
  }
  answer();
}

function undo() {
  while (isAnswer(messages.pop())) {
    // an answer goes with its question
  }
  showMessages();
}

// An answer that is being written continues with the new switches.
function switchNow() {
  if (controller !== null && isAnswer(messages.at(-1)) && messages.at(-1).content.trim() !== '') {
    answer();
  } else {
    showButtons();
  }
}

function clear() {
  controller?.abort();
  controller = null;
  messages = [];
  byId('chat-speed').textContent = byId('chat-left-out').textContent = '';
  showMessages();
}

export function openChat() {
  for (const [id, name] of [['system', 'system'], ['chat-changes', 'chat_changes']]) {
    byId(id).value = session[name];
    byId(id).addEventListener('change', () => {
      session[name] = byId(id).value.trim();
      changed('chat');
    });
  }
  byId('steering').addEventListener('input', steer);
  byId('steering').addEventListener('change', () => changed('chat'));
  byId('chat-form').addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  byId('question').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape' && controller !== null) {
      stop();
    }
  });
  byId('chat-stop').addEventListener('click', stop);
  byId('chat-retry').addEventListener('click', retry);
  byId('chat-undo').addEventListener('click', undo);
  byId('chat-clear').addEventListener('click', clear);
  listen(['changes', 'chat'], switchNow);
  listen(['part'], showButtons);
  listen(['model'], () => {
    const kept = keptMessages();
    clear();
    messages = kept;
    showMessages();
  });
  showMessages();
}

// A conversation of one question becomes a command that answers it; else the command begins a new
// conversation. Returns null if a number in a box is invalid.
export function chatCommand() {
  if (refusesNumbers('chat-problem')) {
    return null;
  }
  const {answer_tokens: most, seed} = session.settings;
  const questions = messages.filter((message) => !isAnswer(message));
  return commandOf('chat', {system: session.system, ...samplingOptions({...session.settings, seed: seed + retries}, most),
                            intervene: switches(), prompt: questions.length === 1 ? questions[0].content : ''});
}
