// Opens the page with its data.
import {byId} from './dom.js';
import {openPage} from './open.js';
import {fillTexts} from './words.js';

const holder = byId('data');
holder.remove();  // only the parsed copy is needed
fillTexts(document.body);
openPage(JSON.parse(holder.textContent));
