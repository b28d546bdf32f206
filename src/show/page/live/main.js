// Opens the page of `headlight serve`.
import {openLivePage} from './open.js';

openLivePage();
