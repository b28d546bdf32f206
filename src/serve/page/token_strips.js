// Token strips of two texts: dragging a token of the first onto the second patches it there.
// Keyboard and taps do the same in two steps.
import {byId, element} from '/views/dom.js';
import {listenToArrows} from './reach.js';
import {shownToken} from './tokens.js';
import {say} from './words.js';

let counts = [0, 0];
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
    : say('strips_taken').replace('{token}', byId('clean-strip').children[taken].textContent);
}

function give(from, to) {
  take(null);
  if (from < counts[0]) {
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
                                      tabIndex: i === 0 ? 0 : -1},
                           element('bdi', {textContent: shownToken(token), translate: false}));
    button.dataset.token = i;
    return button;
  }));
}

// Shows the token texts of both texts.
export function showStrips(clean, corrupt) {
  counts = [clean.length, corrupt.length];
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
  addEventListener('pointerup', (event) => {
    const target = dragged === null ? null : under(event);
    if (target) {
      give(dragged, numberOf(target));
    }
    showTarget(null);
    dragged = null;
  });
  addEventListener('pointercancel', () => {
    showTarget(null);
    dragged = null;
  });
}

// Calls given(from, to) with the indices of a clean and a corrupt token.
export function openStrips(given) {
  put = given;
  listenToDrags();
  ['clean-strip', 'corrupt-strip'].forEach((id) => listenToArrows(byId(id), 'button'));
  byId('clean-strip').addEventListener('click', ({target}) => {
    const button = inStrip('clean-strip', target);
    if (button) {
      take(taken === numberOf(button) ? null : numberOf(button));
    }
  });
  byId('corrupt-strip').addEventListener('click', ({target}) => {
    const button = inStrip('corrupt-strip', target);
    if (button) {
      give(taken ?? numberOf(button), numberOf(button));
    }
  });
  byId('strips').addEventListener('keydown', ({key}) => {
    if (key === 'Escape') {
      take(null);
    }
  });
}
