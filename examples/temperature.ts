/** Temperatures in three scales. */

export function celsiusToFahrenheit(celsius: number): number {
  return (celsius * 9) / 5 + 32;
}

export function fahrenheitToCelsius(fahrenheit: number): number {
  return ((fahrenheit - 32) * 5) / 9;
}

export function celsiusToKelvin(celsius: number): number {
  return celsius + 273.15;
}

export function parseTemperature(text: string): number {
  const value = Number.parseFloat(text);
  if (Number.isNaN(value)) {
    throw 
  }
  return value;
}
