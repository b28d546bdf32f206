#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const kLinks = 5;        // strongest links listed per token
const kTableRows = 100;  // queries in the table of a long text
const kSmallestLink = 0.0005;  // prints as 0.001

// The columns of the active view, one for each document shown. Each has `doc`, `head` (null when
// the document does not have the chosen one) and showToken(), which follows focusToken().
let panes = [];

function tokenSpan(token, i, prefix) {
  const node = element('span', {id: `${prefix}-${i}`, role: 'option'});
  node.dataset.token = i;
  // A line end is drawn as well as obeyed, or it could be neither seen nor chosen.
  token.split('\n').forEach((part, line) => {
    node.append(...(line > 0 ? [element('i', {textContent: '⏎'}), '\n'] : []),
      ...(part === '' ? [] : [part]));
  });
  if (token === '') {
    node.append(element('i', {textContent: '∅'}));
  }
  return node;
}

// The spans of a text; a line end that closes a token follows its span, or the span would reach
// into the next line.
function textNodes(spans) {
  return spans.flatMap((span) => {
    const last = span.lastChild;
    return last?.nodeValue === '\n' ? [span, (last.remove(), '\n')] : [span];
  });
}

// A box that lets the reader choose a token by pointer or arrow keys.
function listenForTokens(box) {
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

// The running text of a document as a list box.
function textBox(doc, number) {
  const prefix = `token-${number}`;
  const spans = doc.tokens.map((token, i) => tokenSpan(token, i, prefix));
  const node = element('div', {className: 'text', tabIndex: 0, translate: false}, ...textNodes(spans));
  node.setAttribute('role', 'listbox');
  node.setAttribute('aria-label', `Tokens of ${documentName(doc)}`);
  listenForTokens(node);
  const mark = () => {
    spans.forEach((span, i) => {
      span.classList.toggle('chosen', i === focusToken(doc));
      span.setAttribute('aria-selected', i === focusToken(doc));
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

// The weight between the chosen token and token `i`, in the chosen direction.
function linkWeight(head, i, chosen = focusToken(head.doc)) {
  const [query, key] = view.direction === 'gives' ? [chosen, i] : [i, chosen];
  return isBlank(head.doc, query, key) ? null : shownWeights(head)[query * head.doc.count + key];
}

// The `limit` largest weights as [weight, token], the largest first.
function strongest(count, weightOf, limit) {
  const links = [];
  for (let i = 0; i < count; ++i) {
    const weight = weightOf(i);
    if (weight >= kSmallestLink) {
      links.push([weight, i]);
    }
  }
  return links.sort((a, b) => b[0] - a[0]).slice(0, limit);
}

function colourText(head, spans) {
  const css = palette().css;
  spans.forEach((node, i) => {
    const weight = linkWeight(head, i);
    const shade = weight === null ? 0 : level(weight);
    // The lowest colours are those of the ground: leaving them out keeps the text calm.
    const coloured = shade >= 6;
    node.style.backgroundColor = coloured ? css[shade] : '';
    node.style.color = coloured ? inkOn(shade) : '';
    node.classList.toggle('unseen-key', weight === null);
  });
}

function linkRow(doc, [weight, i]) {
  const bar = element('i');
  bar.style.width = `${100 * Math.min(1, weight)}%`;
  bar.style.backgroundColor = palette().css[Math.max(level(weight), 60)];
  return element('li', {},
    element('span', {}, ...tokenName(doc, i)),
    element('span', {className: 'number', textContent: weight.toFixed(3)}),
    element('span', {className: 'track', ariaHidden: 'true'}, bar));
}

// Writes what the chosen token looks at (or who looks at it) into a heading and a list.
function listLinks(head, title, list) {
  const {doc} = head;
  const links = strongest(doc.count, (i) => linkWeight(head, i), kLinks);
  const gives = view.direction === 'gives';
  let note = gives ? ' looks at' : ' is looked at by';
  let sum = '';
  if (links.length === 0) {
    note = gives ? ' gives no weight to show' : ' receives no weight to show';
  } else if (!gives) {
    const total = doc.tokens.reduce((all, _, i) => all + (linkWeight(head, i) ?? 0), 0);
    sum = `${total.toFixed(2)} in sum over all queries`;
  }
  title.replaceChildren(...tokenName(doc, focusToken(doc)), note, ' ',
    element('span', {className: 'place', textContent: sum}));
  list.replaceChildren(...links.map((link) => linkRow(doc, link)));
}

function hoverToken(token) {
  if (token !== view.hovered) {
    view.hovered = token;
    showToken();
  }
}

function showToken() {
  panes.forEach((pane) => pane.showToken());
}

// Tells screen readers what a choice changed; hovering stays silent.
function announce() {
  const told = panes.filter((pane) => pane.head).map(({doc, head}) => {
    const links = strongest(doc.count, (i) => linkWeight(head, i), 3)
      .map(([weight, i]) => `${doc.labels[i]} at ${i}: ${weight.toFixed(3)}`);
    return `${panes.length > 1 ? `${documentName(doc)}, ` : ''}head ${head.name}, ` +
      `token ${focusToken(doc)} ${doc.labels[focusToken(doc)]} ${view.direction} ` +
      `${links.join(', ') || 'nothing'}`;
  });
  byId('status').textContent = told.join('; ');
}

// null: no token in particular.
function chooseToken(i) {
  const last = Math.max(...panes.map(({doc}) => doc.count)) - 1;
  view.token = i === null ? null : Math.max(0, Math.min(last, i));
  view.hovered = null;
  showToken();
  panes.forEach((pane) => pane.scroll?.());
  announce();
  writeAddress(true);
}

// A table of the keys that each query weighs most; in a long text only of the queries whose
// strongest link is strongest. Filled when it is opened.
function linksTable(head) {
  const {doc} = head;
  const box = element('details', {className: 'table-box'},
    element('summary', {textContent: `Head ${head.name} as a table`}));
  box.addEventListener('toggle', () => {
    if (box.open && box.children.length === 1) {
      box.append(element('div', {className: 'scroller'}, filledTable(head)));
    }
  });
  box.classList.toggle('long', doc.count > kTableRows);
  return box;
}

function tableRow(head, query) {
  const {doc} = head;
  const weights = shownWeights(head);
  const links = strongest(doc.count,
    (key) => isBlank(doc, query, key) ? 0 : weights[query * doc.count + key], kLinks);
  const row = element('tr', {}, element('th', {scope: 'row'}, ...tokenName(doc, query)));
  for (let i = 0; i < kLinks; ++i) {
    const link = links[i];
    row.append(element('td', {}, ...(link ? [...tokenName(doc, link[1]), ' ',
      element('span', {className: 'number', textContent: link[0].toFixed(3)})] : [])));
  }
  return row;
}

function tableOf(caption, titles, rows) {
  return element('table', {},
    element('caption', {textContent: caption}),
    element('thead', {}, element('tr', {}, ...titles.map((title) =>
      element('th', {scope: 'col', textContent: title})))),
    element('tbody', {}, ...rows));
}

function filledTable(head) {
  const {doc} = head;
  const weights = shownWeights(head);
  const largest = (query) =>
    weights.subarray(query * doc.count, (query + 1) * doc.count)
      .reduce((a, b) => Math.max(a, b), 0);
  const queries = doc.tokens.map((_, query) => [largest(query), query])
    .sort((a, b) => b[0] - a[0]).slice(0, kTableRows).map(([, query]) => query)
    .sort((a, b) => a - b);
  const limited = doc.count > kTableRows ? ` of the ${kTableRows} most decided queries` : '';
  return tableOf(
    `Head ${head.name}: the strongest keys${limited}, each with its position and weight`,
    ['Query', 'Strongest key', 'Second', 'Third', 'Fourth', 'Fifth'],
    queries.map((query) => tableRow(head, query)));
}
)js";

}  // namespace

std::string_view attention_page_text_script() { return kScript; }

}  // namespace headlight
