/** Numbers and dates as the display language writes them, in the host and in the page. */

let language = 'en';

/** `tag`: BCP 47, of the language that the texts are in; what is none counts as English. */
export function useLanguage(tag: string): void {
  language = isKnown(tag) ? tag : 'en';
}

function isKnown(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}

/** `1,234` and `0.5` in English, `1.234` and `0,5` in German; always with that many digits behind the point. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** `Nov 30, 2026` */
export function date(time: number): string {
  return new Date(time).toLocaleDateString(language, { dateStyle: 'medium' });
}
