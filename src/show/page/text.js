// Running text of a document, coloured by the links of the chosen token.
import {inkOn, level, palette} from './colours.js';
import {element} from './dom.js';
import {documentName} from './labels.js';
import {chooseToken, hoverToken} from './page.js';
import {focusToken, view} from './state.js';
import {linkWeight} from './weights.js';
import {say} from './words.js';

export function tokenSpan(token, i, prefix) {
  const node = element('span', {id: `${prefix}-${i}`, role: 'option'});
  node.dataset.token = i;
  // A line end gets a visible symbol, so that it can be chosen.
  token.split('\n').forEach((part, line) => {
    node.append(...(line > 0 ? [element('i', {textContent: '⏎'}), '\n'] : []),
      ...(part === '' ? [] : [part]));
  });
  if (token === '') {
    node.append(element('i', {textContent: '∅'}));
  }
  return node;
}

// Returns the nodes of a text. Moves a line end at the end of a token behind its span, because the
// span would reach into the next line.
export function textNodes(spans) {
  return spans.flatMap((span) => {
    const last = span.lastChild;
    return last?.nodeValue === '\n' ? [span, (last.remove(), '\n')] : [span];
  });
}

// Lets the reader choose a token of a box by the pointer.
export function listenForTokens(box) {
  const tokenOf = (event) => event.target.closest?.('[data-token]')?.dataset.token;
  box.addEventListener('pointerover', (event) => {
    const token = tokenOf(event);
    if (event.pointerType === 'mouse') {
      hoverToken(token === undefined ? null : Number(token));
    }
  });
  box.addEventListener('pointerleave', () => hoverToken(null));
  box.addEventListener('click', (event) => {
    const token = tokenOf(event);
    if (token !== undefined) {
      view.kept = view.direction;
      const again = view.tab === 'head' && view.token === Number(token);
      chooseToken(again ? null : Number(token));
    }
  });
}

// Returns the running text of a document as a list box.
export function textBox(doc, number) {
  const prefix = `token-${number}`;
  const spans = doc.tokens.map((token, i) => tokenSpan(token, i, prefix));
  const node = element('div', {className: 'text', tabIndex: 0, translate: false, role: 'listbox',
                               ariaLabel: say('tokens_of', {text: documentName(doc)})}, ...textNodes(spans));
  listenForTokens(node);
  const mark = () => {
    spans.forEach((span, i) => {
      span.classList.toggle('chosen', i === focusToken(doc));
      span.ariaSelected = i === focusToken(doc);
    });
    node.setAttribute('aria-activedescendant', `${prefix}-${focusToken(doc)}`);
  };
  // Brings the chosen token into view inside the box, without moving the page.
  const scroll = () => {
    const span = spans[focusToken(doc)];
    const top = span.offsetTop - node.offsetTop;
    if (top < node.scrollTop || top + span.offsetHeight > node.scrollTop + node.clientHeight) {
      node.scrollTop = top - node.clientHeight / 2;
    }
  };
  return {node, spans, mark, scroll};
}

export function colourText(head, spans) {
  const css = palette().css;
  spans.forEach((node, i) => {
    const weight = linkWeight(head, i);
    const shade = weight === null ? 0 : level(weight);
    // The lowest colours nearly equal the background: omitting them keeps the text calm.
    const coloured = shade >= 6;
    node.style.backgroundColor = coloured ? css[shade] : '';
    node.style.color = coloured ? inkOn(shade) : '';
    node.classList.toggle('unseen-key', weight === null);
  });
}
