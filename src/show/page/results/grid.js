// Shows a measure of the parts of a model as a table of coloured cells.
import {element} from '../dom.js';
import {hideTip, showTip} from '../tip.js';

const kMostWritten = 16;  // most columns with values in their cells
const kLongest = 6;       // most characters of a horizontal column label
const kStrong = 0.68;     // share of the colour from which the text colour is inverted
const kFaint = 0.3;       // factor of the colour of doubtful values

export const largestOf = ({limit, values}) =>
  limit || Math.max(...values.map((value) => Math.abs(value ?? 0))) || 1;

export function valueText(value, limit, doubtful) {
  const text = value.toFixed(limit >= 100 ? 0 : limit >= 10 ? 1 : 2);
  return (Number(text) === 0 ? text.replace('-', '') : text) + (doubtful ? '?' : '');
}

function tipOf(grid, place) {
  const {columns, column_title: title, rows, values, lows, highs, texts} = grid;
  const row = rows[Math.floor(place / columns.length)];
  const column = title ? columns[place % columns.length] : '';
  const value = Number(values[place].toPrecision(6)) + (grid.doubtful ? '?' : '');
  const interval = lows.length && lows[place] !== null
    ? `95 % interval ${lows[place].toPrecision(3)} to ${highs[place].toPrecision(3)}` : '';
  const said = texts.length ? `${texts[place]} ` : '';
  const where = `${grid.row_title} ${row}${column ? `, ${title} ${column}` : ''}`;
  return {content: [said, element('b', {textContent: value})],
          small: [where, interval].filter(Boolean).join(' · ')};
}

function cellOf(grid, place, limit, written) {
  const value = grid.values[place];
  const cell = element('td');
  if (value === null) {
    cell.className = 'missing';
    return cell;
  }
  const share = Math.min(1, Math.abs(value) / limit) * (grid.doubtful ? kFaint : 1);
  cell.dataset.place = place;
  cell.style.setProperty('--share', `${(100 * share).toFixed(1)}%`);
  cell.classList.toggle('below', value < 0);
  cell.classList.toggle('strong', share > kStrong);
  const text = grid.texts.length ? grid.texts[place] : valueText(value, limit, grid.doubtful);
  if (written) {
    cell.textContent = text;
  } else {
    cell.ariaLabel = text;
  }
  return cell;
}

function tableOfGrid(grid) {
  const {columns, rows} = grid;
  const limit = largestOf(grid);
  const written = columns.length <= kMostWritten || grid.texts.length > 0;
  const upright = columns.some((column) => [...column].length > kLongest) ? 'upright' : '';
  const corner = grid.column_title ? `${grid.row_title} ↓ ${grid.column_title} →` : grid.row_title;
  const titles = grid.column_title ? columns : columns.map(() => '');
  const body = element('tbody', {className: written ? 'written' : ''}, ...rows.map((row, i) =>
    element('tr', {}, element('th', {scope: 'row', textContent: row}),
      ...columns.map((_, j) => cellOf(grid, i * columns.length + j, limit, written)))));
  const onpointermove = (event) => {
    const place = event.target.closest('[data-place]')?.dataset.place;
    if (place === undefined) {
      hideTip();
      return;
    }
    const {content, small} = tipOf(grid, Number(place));
    showTip(event, small, ...content);
  };
  return element('table', {className: 'values', onpointermove, onpointerleave: hideTip},
    element('thead', {}, element('tr', {},
      element('th', {className: 'corner', textContent: corner}),
      ...titles.map((title) =>
        element('th', {scope: 'col'}, element('span', {className: upright, textContent: title}))))),
    body);
}

export function buildGrid(grid) {
  return element('section', {className: 'result'}, element('h2', {textContent: grid.title}),
    ...(grid.note ? [element('p', {className: 'note', textContent: grid.note})] : []),
    element('div', {className: 'scroller'}, tableOfGrid(grid)));
}
