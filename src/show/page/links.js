// Lists the strongest links of a token, and makes a table of the links of all queries.
import {level, palette} from './colours.js';
import {element, tableOf} from './dom.js';
import {tokenName} from './labels.js';
import {focusToken, view} from './state.js';
import {isBlank, linkWeight, shownWeights, strongest} from './weights.js';
import {say} from './words.js';

const kLinks = 5;        // strongest links listed per token
const kTableRows = 100;  // queries in the table of a long text

// Returns a bar as long as a weight, in its colour.
export const weightBar = (weight) => element('i', {style: `width: ${100 * Math.min(1, weight)}%; ` +
  `background: ${palette().css[Math.max(level(weight), 60)]}`});

const weightText = (weight) =>
  element('span', {className: 'number', textContent: weight.toFixed(3)});

// Returns a table's cell with a link [weight, token]; without a link, an empty one.
export const linkCell = (doc, link) => element('td', {},
  ...(link ? [...tokenName(doc, link[1]), ' ', weightText(link[0])] : []));

const linkRow = (doc, [weight, i]) => element('li', {},
  element('span', {}, ...tokenName(doc, i)), weightText(weight),
  element('span', {className: 'track', ariaHidden: 'true'}, weightBar(weight)));

// Fills a heading and a list with the strongest links of the chosen token in view.direction.
export function listLinks(head, title, list) {
  const {doc} = head;
  const links = strongest(doc.count, (i) => linkWeight(head, i), kLinks);
  const gives = view.direction === 'gives';
  const place = focusToken(doc);
  let note = gives ? 'gives' : 'receives';
  let sum = '';
  if (links.length === 0) {
    note = gives ? 'gives_nothing' : 'receives_nothing';
  } else if (!gives) {
    const total = doc.tokens.reduce((all, _, i) => all + (linkWeight(head, i) ?? 0), 0);
    sum = say('sum_over_queries', {sum: total.toFixed(2)});
  }
  title.replaceChildren(element('bdi', {className: 'label', textContent: doc.labels[place], translate: false}),
    element('span', {className: 'place', textContent: say('place', {place})}), say(note, {label: doc.labels[place]}), ' ',
    element('span', {className: 'place', textContent: sum}));
  list.replaceChildren(...links.map((link) => linkRow(doc, link)));
}

// Returns a table of the strongest keys of each query, which is filled when it is opened. Long
// texts show only the kTableRows queries with the strongest links.
export function linksTable(head) {
  const ontoggle = ({target}) => {
    if (target.open && target.children.length === 1) {
      target.append(element('div', {className: 'scroller'}, filledTable(head)));
    }
  };
  return element('details', {className: 'table-box', ontoggle},
    element('summary', {textContent: say('head_as_table', {name: head.name})}));
}

function tableRow(head, query) {
  const {doc} = head;
  const weights = shownWeights(head);
  const links = strongest(doc.count,
    (key) => isBlank(doc, query, key) ? 0 : weights[query * doc.count + key], kLinks);
  return element('tr', {}, element('th', {scope: 'row'}, ...tokenName(doc, query)),
    ...Array.from({length: kLinks}, (_, i) => linkCell(doc, links[i])));
}

export function filledTable(head) {
  const {doc} = head;
  const weights = shownWeights(head);
  const largest = (query) =>
    weights.subarray(query * doc.count, (query + 1) * doc.count)
      .reduce((a, b) => Math.max(a, b), 0);
  const queries = doc.tokens.map((_, query) => [largest(query), query])
    .sort((a, b) => b[0] - a[0]).slice(0, kTableRows).map(([, query]) => query)
    .sort((a, b) => a - b);
  return tableOf(say(doc.count > kTableRows ? 'links_caption_limited' : 'links_caption', {name: head.name, limit: kTableRows}), say('links_columns'),
                 queries.map((query) => tableRow(head, query)));
}
