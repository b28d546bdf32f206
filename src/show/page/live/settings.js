// Boxes for the sampling options of the parts that generate text.
import {byId, element} from '../dom.js';
import {changed, kSettings, session} from './session.js';
import {say} from '../words.js';

let problem = null;  // element that names an invalid number

// Fractions may differ from the steps of their box.
function isRight(box, step) {
  const {rangeUnderflow, rangeOverflow, stepMismatch} = box.validity;
  return box.value !== '' && !rangeUnderflow && !rangeOverflow && (step < 1 || !stepMismatch);
}

function settingBox([name, , min, max, step]) {
  const box = element('input', {id: name, type: 'number', min, max, step, value: session.settings[name]});
  box.addEventListener('input', () => {
    const right = isRight(box, step);
    box.ariaInvalid = String(!right);
    if (right) {
      problem?.replaceChildren();
      session.settings[name] = Number(box.value);
      changed('settings');
    }
  });
  return element('label', {}, `${say(name)} `, box);
}

// Shows the first invalid number in the element with this id. Returns false if all are valid.
export function refusesNumbers(id) {
  const wrong = kSettings.find(([name, , , , step]) => !byId(name).parentNode.hidden && !isRight(byId(name), step));
  if (wrong === undefined) {
    return false;
  }
  const [name, , least, most, step] = wrong;
  problem = byId(id);
  problem.textContent = say(step < 1 ? 'wrong_number' : 'wrong_whole', {name: say(name), least, most});
  byId(name).focus();
  return true;
}

export function openSettings() {
  byId('settings').append(...kSettings.map(settingBox));
}

// Shows the boxes that a part of the page uses.
export function showSettings(part) {
  byId('settings').hidden = !['chat', 'write'].includes(part);
  byId('max_tokens').parentNode.hidden = part !== 'write';
  byId('answer_tokens').parentNode.hidden = part !== 'chat';
}
