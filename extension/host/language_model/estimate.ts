/** What one match of PIECE costs, by kind; measured on code and prose with byte-pair vocabularies of 50,000 to 150,000. */
const LETTERS_PER_TOKEN = 5;
const DIGITS_PER_TOKEN = 1;
const SIGNS_PER_TOKEN = 2;
const BLANKS_PER_TOKEN = 8;
const PIECE = /([A-Za-z]+)|(\d+)|( (?=[A-Za-z]))|(\s+)|([!-~])[!-~]?|([^])/gu;

/**
 * Tokens of a text, without a tokenizer and rather too many than too few. VS Code asks 10,000 times an agent's turn,
 * mostly for a few characters, so that asking the engine is out of the question.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece, letters, digits, blank, blanks, sign] of text.matchAll(PIECE)) {
    if (letters !== undefined) tokens += Math.ceil(letters.length / LETTERS_PER_TOKEN);
    else if (digits !== undefined) tokens += Math.ceil(digits.length / DIGITS_PER_TOKEN);
    else if (blank !== undefined)
      tokens += 0; // part of the word that follows
    else if (blanks !== undefined) tokens += Math.ceil(blanks.length / BLANKS_PER_TOKEN);
    else if (sign !== undefined) tokens += Math.ceil(piece.length / SIGNS_PER_TOKEN);
    else tokens += piece.length; // other scripts
  }
  return tokens;
}
