// Elements within reach of the keyboard: arrows lead from one to the next, and each tells what the pointer is told.
import {hideTip, showTip} from '/views/tip.js';

// The elements in `box` that `selector` names are one stop of the Tab key, which the one with tabIndex 0 begins. Up and
// down lead to the next row where each row is an element of its own.
export function listenToArrows(box, selector) {
  box.addEventListener('focusin', ({target}) => {
    if (target.matches(selector)) {
      box.querySelectorAll('[tabindex="0"]').forEach((node) => { node.tabIndex = -1; });
      target.tabIndex = 0;
    }
  });
  box.addEventListener('keydown', (event) => {
    const nodes = [...box.querySelectorAll(selector)];
    const place = nodes.indexOf(event.target);
    const columns = event.target.parentNode.querySelectorAll(selector).length;
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[event.key];
    const next = place < 0 ? undefined : nodes[place + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}

// `tip()` gives the small line and what stands above it.
export function listenForTip(node, tip) {
  node.addEventListener('pointermove', (event) => showTip(event, ...tip()));
  // Later, since the page may scroll to the node, and that hides the tip.
  node.addEventListener('focus', () => requestAnimationFrame(() => {
    if (node.matches(':focus-visible')) {
      const {left, bottom} = node.getBoundingClientRect();
      showTip({clientX: left, clientY: bottom - 12}, ...tip());
    }
  }));
  node.addEventListener('pointerleave', hideTip);
  node.addEventListener('blur', hideTip);
}
