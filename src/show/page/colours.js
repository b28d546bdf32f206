// Colours of weights and heads on light and dark backgrounds.
import {view} from './state.js';

export const darkGround = matchMedia('screen and (prefers-color-scheme: dark)');

export function readPalette(source) {
  const css = source.colours.match(/.{6}/g).map((digits) => `#${digits}`);
  const bytes = css.flatMap((colour) =>
    [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).concat(255));
  return {css, pixels: new Uint32Array(new Uint8Array(bytes).buffer), white: source.white_text};
}

let palettes = {};

export function setPalettes(data) {
  palettes = {light: readPalette(data.light), dark: readPalette(data.dark)};
}

export const palette = () => darkGround.matches ? palettes.dark : palettes.light;
export const strength = (weight) => view.root ? Math.sqrt(weight) : weight;
export const level = (weight) => Math.round(255 * Math.min(1, strength(weight)));
export const inkOn = (colourLevel) => palette().white[colourLevel] === '1' ? '#fff' : '#12141d';

// Colours that differ for the colour-blind too: with protanopia, deuteranopia and tritanopia any two
// are at least 0.1 apart in OKLab. Neighbours are farther apart.
const kDistinct = {
  light: ['#9ea4e9', '#55120b', '#db551d', '#4224bf', '#953307', '#857bbe', '#280183', '#d9a02c',
          '#75528e', '#513856', '#48a689', '#5e51e9'],
  dark: ['#455bb2', '#eff2a3', '#f37513', '#6ec3eb', '#90502a', '#478ebc', '#87f2f8', '#f3b94c',
         '#8ba885', '#b0cea9', '#c93f76', '#9d5bf4'],
};

// Colour of the i-th head of a layer or class of heads. Later ones than kDistinct has differ from
// their neighbours by the golden angle.
export function distinctColour(i) {
  const colours = kDistinct[darkGround.matches ? 'dark' : 'light'];
  return colours[i] ?? `oklch(${darkGround.matches ? '0.77 0.14' : '0.58 0.17'} ${(264 + i * 137.5) % 360})`;
}
