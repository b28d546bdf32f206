// Buttons that save the views of the page as pictures.
import {byId, element} from '../dom.js';
import {drawAllThumbnails} from '../views/thumbnails.js';
import {drawingOf} from './drawing.js';
import {session} from './session.js';
import {say} from '../words.js';

const kScale = 2;           // pixels of a PNG per pixel of the page
const kMostPixels = 8192;   // of a side: browsers refuse larger ones
const kViews = ['#written', '#conversation', '#stage', '#lens', '.pair-results', '#chart', '#birth-chart'];

const textOf = (drawing) => new XMLSerializer().serializeToString(drawing);

export const svgOf = (drawing) => new Blob([textOf(drawing)], {type: 'image/svg+xml'});

export async function pngOf(drawing) {
  const [width, height] = ['width', 'height'].map((name) => Number(drawing.getAttribute(name)));
  const scale = Math.min(kScale, kMostPixels / Math.max(width, height));
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(textOf(drawing))}`;
  await image.decode();
  const canvas = element('canvas', {width: Math.round(scale * width), height: Math.round(scale * height)});
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
}

function save(blob, name) {
  const link = element('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function savePicture(node, form) {
  drawAllThumbnails();
  const drawing = drawingOf(node, `${session.model}: ${say(session.part)}`);
  const name = `${session.model}-${session.part}`.replace(/[^\p{L}\p{N}.-]+/gu, '_');
  save(await (form === 'svg' ? svgOf : pngOf)(drawing), `${name}.${form}`);
}

function buttonFor(node, form) {
  const name = form.toUpperCase();
  const button = element('button', {type: 'button', className: 'quiet', textContent: name, ariaLabel: `${say('picture')}: ${name}`});
  button.addEventListener('click', () => savePicture(node, form).catch(({message}) => {
    byId('status').textContent = `${say('failed')} ${message}`;
  }));
  return button;
}

// Adds the buttons below each view.
export function openPictures() {
  for (const selector of kViews) {
    const node = document.querySelector(selector);
    (node.closest('.scroller') ?? node).after(element('div', {className: 'picture'},
      element('span', {className: 'muted', textContent: say('picture')}), buttonFor(node, 'svg'), buttonFor(node, 'png')));
  }
}
