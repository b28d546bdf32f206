// Keyboard access: arrow keys move between elements, and focus shows the pointer's tip.
import {hideTip, showTip} from '../tip.js';

// Makes the elements of `selector` in `box` one Tab stop, which starts at tabIndex 0. Up and down
// move by rows if each row has its own parent element.
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

// `tip()` returns the small line of the tip, then the content above it.
export function listenForTip(node, tip) {
  node.addEventListener('pointermove', (event) => showTip(event, ...tip()));
  // Deferred: the page may scroll to the node, which hides the tip.
  node.addEventListener('focus', () => requestAnimationFrame(() => {
    if (node.matches(':focus-visible')) {
      const {left, bottom} = node.getBoundingClientRect();
      showTip({clientX: left, clientY: bottom - 12}, ...tip());
    }
  }));
  node.addEventListener('pointerleave', hideTip);
  node.addEventListener('blur', hideTip);
}
