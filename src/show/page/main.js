// Opens the page with the data in its element `attention`.
import {byId} from './dom.js';
import {openPage} from './open.js';
import {korean} from './words/korean.js';
import {fillTexts, setWords} from './words/words.js';

const holder = byId('attention');
holder.remove();  // only the parsed copy is needed
const pageData = JSON.parse(holder.textContent);
if (pageData.language === 'ko') {
  setWords(korean);
}
fillTexts(document.body);
openPage(pageData);
