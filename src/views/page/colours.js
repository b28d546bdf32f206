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

// Colour of the i-th head of a layer or class of heads. The golden angle makes neighbours differ.
export const distinctColour = (i) =>
  `oklch(${darkGround.matches ? '0.77 0.14' : '0.58 0.17'} ${(264 + i * 137.5) % 360})`;
