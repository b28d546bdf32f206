// Token strips of two texts: dragging a token of the first onto the second patches it there.
// Keyboard and taps do the same in two steps.
import {byId, element} from '../dom.js';
import {listenToArrows} from './reach.js';
import {tokenText} from './tokens.js';
import {say} from '../words.js';

let taken = null;    // index of a clean token
let dragged = null;  // index of the clean token under the pointer
let put = () => {};

const inStrip = (id, node) => node?.closest?.(`#${id} button`) ?? null;
const under = ({clientX, clientY}) => inStrip('corrupt-strip', document.elementFromPoint(clientX, clientY));
const numberOf = (button) => Number(button.dataset.token);

function take(number) {
  taken = number;
  for (const button of byId('clean-strip').children) {
    button.ariaPressed = String(numberOf(button) === taken);
  }
  byId('corrupt-strip').classList.toggle('awaits', taken !== null);
  byId('strips-state').textContent = taken === null ? say('strips_hint')
    : say('strips_taken', {token: byId('clean-strip').children[taken].textContent});
}

function give(from, to) {
  take(null);
  if (from < byId('clean-strip').children.length) {
    put(from, to);
  }
}

function showTarget(target) {
  byId('corrupt-strip').querySelector('.over')?.classList.remove('over');
  target?.classList.add('over');
}

function fill(id, tokens, others) {
  byId(id).replaceChildren(...tokens.map((token, i) => {
    const button = element('button', {type: 'button', className: token === others[i] ? '' : 'differs', title: `${i}`,
                                      tabIndex: i === 0 ? 0 : -1}, tokenText(token));
    button.dataset.token = i;
    return button;
  }));
}

// Shows the token texts of both texts.
export function showStrips(clean, corrupt) {
  fill('clean-strip', clean, corrupt);
  fill('corrupt-strip', corrupt, clean);
  take(null);
}

function listenToDrags() {
  byId('clean-strip').addEventListener('pointerdown', (event) => {
    const button = inStrip('clean-strip', event.target);
    dragged = button && event.button === 0 ? numberOf(button) : null;
  });
  addEventListener('pointermove', (event) => {
    if (dragged !== null) {
      const target = under(event);
      showTarget(target);
      if (target && taken === null) {
        take(dragged);
      }
    }
  });
  const drop = (target) => {
    if (target) {
      give(dragged, numberOf(target));
    }
    showTarget(null);
    dragged = null;
  };
  addEventListener('pointerup', (event) => drop(dragged === null ? null : under(event)));
  addEventListener('pointercancel', () => drop(null));
}

// Calls given(from, to) with the indices of a clean and a corrupt token.
export function openStrips(given) {
  put = given;
  listenToDrags();
  ['clean-strip', 'corrupt-strip'].forEach((id) => listenToArrows(byId(id), 'button'));
  byId('strips').addEventListener('click', ({target}) => {
    const clean = inStrip('clean-strip', target);
    const corrupt = inStrip('corrupt-strip', target);
    if (clean) {
      take(taken === numberOf(clean) ? null : numberOf(clean));
    } else if (corrupt) {
      give(taken ?? numberOf(corrupt), numberOf(corrupt));
    }
  });
  byId('strips').addEventListener('keydown', ({key}) => {
    if (key === 'Escape') {
      take(null);
    }
  });
}
